//! The programs, in Python. `P` is the port that the profile allows on every host, `Q` one that it does not; `allowed.example`
//! is at an address that the node opens, the other names of `.example` are not, or not always.

/// Shared by all programs.
pub(super) const PRELUDE: &str = r"
import socket, ssl, struct
P, Q = @P@, @Q@
ALLOWED = f'allowed.example:{P}'

def escaped(condition, what=''):
    if condition: print('ESCAPED', what, flush=True)

def proxy(wait=2):
    connection = socket.create_connection(('127.0.0.1', 3128))
    connection.settimeout(wait)
    return connection

def send(connection, raw):
    try: connection.sendall(raw if isinstance(raw, bytes) else raw.encode('utf-8', 'surrogateescape'))
    except OSError: pass

def receive(connection):
    data = b''
    try:
        while len(data) < 100000:
            piece = connection.recv(4096)
            if not piece: break
            data += piece
    except OSError: pass
    return data

def exchange(raw, wait=2):
    with proxy(wait) as connection:
        send(connection, raw)
        return receive(connection)

def status(answer):
    try: return int(answer.split(b' ', 2)[1])
    except Exception: return 0

def refused(raw):
    'Nothing but a refusal comes back.'
    answer = exchange(raw)
    escaped(b'reached' in answer or 0 < status(answer) < 400, answer[:120])

def get(url, host=None, more=''):
    host = host or url.split('/')[2].split('@')[-1]
    return f'GET {url} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n'

def connect(target, host=None):
    return f'CONNECT {target} HTTP/1.1\r\nHost: {host or target}\r\n\r\n'

def both(target):
    'Neither plain HTTP nor a tunnel.'
    refused(get(f'http://{target}/'))
    refused(connect(target))

def tunnel(payload, target=ALLOWED):
    'A tunnel in which nothing comes back.'
    with proxy() as connection:
        send(connection, connect(target))
        head = b''
        while b'\r\n\r\n' not in head:
            piece = connection.recv(4096)
            if not piece: raise Exception('no tunnel')
            head += piece
        escaped(status(head) != 200, head)
        for piece in payload if isinstance(payload, list) else [payload]: send(connection, piece)
        escaped(receive(connection), payload[:40])

def hello(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    try: context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()

def attack(name, body):
    try: exec(body, globals())
    except Exception as error: print('FAULT', name, repr(error), flush=True)
    print('DONE', name, flush=True)
";

/// The proxy works: what is allowed arrives.
pub(super) const CONTROL: &str = r"
answer = exchange(get(f'http://{ALLOWED}/control'))
print('CONTROL', status(answer), b'reached' in answer, flush=True)
with proxy() as connection:
    send(connection, connect(ALLOWED)); connection.recv(4096)
    send(connection, hello('allowed.example'))
    print('CONTROL', b'reached' in receive(connection), flush=True)
";

/// Names and bodies.
#[rustfmt::skip]
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    // Hosts that are not allowed.
    ("a port that is not allowed", "both(f'allowed.example:{Q}')"),
    ("a name that does not exist", "both(f'missing.example:{P}')"),
    ("a host that is allowed on another port only", "both('allowed.example:22')"),
    ("a connection without the proxy", "s = socket.socket(); s.settimeout(2)\nfor address in ('127.0.0.2', '127.0.0.1', '192.0.2.1'):\n  try: s.connect((address, P)); escaped(True, address)\n  except OSError: pass"),
    ("a datagram without the proxy", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ntry: s.sendto(b'x', ('192.0.2.1', 53)); escaped(True)\nexcept OSError: pass"),
    // Internal addresses, however they are written.
    ("loopback", "both(f'127.0.0.1:{P}')"),
    ("a decimal address", "both(f'2130706433:{P}')"),
    ("a hexadecimal address", "both(f'0x7f000001:{P}')"),
    ("an octal address", "both(f'0177.0.0.01:{P}')"),
    ("an address of two numbers", "both(f'127.1:{P}')"),
    ("an address of three numbers", "both(f'127.0.1:{P}')"),
    ("mixed bases in an address", "both(f'0x7f.0.0.01:{P}')"),
    ("a mapped address", "both(f'[::ffff:127.0.0.1]:{P}')"),
    ("a mapped address in hexadecimal", "both(f'[::ffff:7f00:1]:{P}')"),
    ("a compatible address", "both(f'[::127.0.0.1]:{P}')"),
    ("an address behind NAT64", "both(f'[64:ff9b::127.0.0.1]:{P}')"),
    ("an address behind 6to4", "both(f'[2002:7f00:1::]:{P}')"),
    ("loopback of IPv6", "both(f'[::1]:{P}')"),
    ("the unspecified address", "both(f'0.0.0.0:{P}'); both(f'[::]:{P}'); both(f'0:{P}')"),
    ("an address with a zone", "both(f'[fe80::1%25lo]:{P}'); both(f'[::1%lo]:{P}')"),
    ("a private network", "both('10.0.0.1:80'); both('172.16.0.1:80'); both('192.168.0.1:80'); both('100.64.0.1:80')"),
    ("the metadata of clouds", "both('169.254.169.254:80'); both('[fd00:ec2::254]:80'); both('2852039166:80')"),
    ("broadcast and multicast", "both('255.255.255.255:80'); both('224.0.0.1:80'); both('[ff02::1]:80')"),
    ("an encoded address", "both(f'%31%32%37.0.0.1:{P}')"),
    ("an address in wide digits", "both('\\uff11\\uff12\\uff17.0.0.1:' + str(P))"),
    ("an address in circled digits", "both('\\u2460\\u2461\\u2466.0.0.1:' + str(P))"),
    ("an address with a trailing dot", "both(f'127.0.0.1.:{P}')"),
    ("a name for loopback", "both(f'localhost:{P}'); both(f'LOCALHOST.:{P}')"),
    // Names that resolve to internal addresses.
    ("a name with an internal address", "both(f'internal.example:{P}')"),
    ("a name with a mapped internal address", "both(f'mapped.example:{P}')"),
    ("a name with a public and an internal address", "both(f'mixed.example:{P}')"),
    ("a name whose address changes between two lookups", "for n in range(4): exchange(get(f'http://rebind.example:{P}/rebind'))\nfor n in range(4): exchange(connect(f'rebind.example:{P}'))"),
    // Redirects, as an agent would follow them.
    ("a redirect to an internal address", "where = exchange(get(f'http://{ALLOWED}/redirect')).lower().split(b'location: ')[1].split(b'\\r')[0].decode()\nescaped('127.0.0.1' not in where, where); refused(get(where))"),
    ("a redirect to the metadata of clouds over TLS", "refused(connect('169.254.169.254:443'))"),
    // The target is not where it seems to be.
    ("a user name that looks like a host", "refused(get(f'http://{ALLOWED}@127.0.0.1:{P}/')); refused(connect(f'{ALLOWED}@127.0.0.1:{P}'))"),
    ("a user name before an allowed host", "refused(get(f'http://127.0.0.1:{P}@{ALLOWED}/', ALLOWED))"),
    ("a backslash before a host", "refused(get(f'http://{ALLOWED}\\\\@127.0.0.1:{P}/', f'127.0.0.1:{P}')); refused(get(f'http:\\\\\\\\127.0.0.1:{P}/', ALLOWED))"),
    ("a fragment before a host", "refused(get(f'http://127.0.0.1:{P}#@{ALLOWED}/', ALLOWED))"),
    ("a query before a host", "refused(get(f'http://127.0.0.1:{P}?@{ALLOWED}/', ALLOWED))"),
    ("a path of another host only in the header", "refused(get('/', f'127.0.0.1:{P}')); refused(get('//127.0.0.1/', f'127.0.0.1:{P}'))"),
    ("another host in the header of a tunnel", "refused(connect(ALLOWED, f'127.0.0.1:{P}')); refused(connect(ALLOWED, f'evil.example:{P}'))"),
    ("another host in the header of a request", "refused(get(f'http://{ALLOWED}/', 'evil.example')); refused(get(f'http://{ALLOWED}/', f'allowed.example:{Q}'))"),
    ("two hosts in headers", "refused(f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nHost: evil.example\\r\\n\\r\\n')"),
    ("two hosts in one header", "refused(get(f'http://{ALLOWED}/', f'{ALLOWED}, evil.example')); refused(get(f'http://{ALLOWED}/', f'{ALLOWED} evil.example'))"),
    ("a host header with a folded line", "refused(f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\n evil.example\\r\\n\\r\\n')"),
    ("schemes that are not http", "for scheme in ('https', 'ftp', 'file', 'gopher', 'ws', 'unix'): refused(get(f'{scheme}://{ALLOWED}/'))"),
    ("a file of the node", "refused(get('file:///etc/passwd', 'localhost'))"),
    ("a socket of the node", "refused(get('http://unix:/run/docker.sock:/info', 'unix'))"),
    ("ports that are none", "for port in ('0', '65536', '-1', '80x', '', '+80', '00000000080'): refused(connect('127.0.0.1:' + port))"),
    // What a tunnel carries.
    ("a tunnel in a tunnel", "tunnel(connect(f'evil.example:{P}'))"),
    ("plain http in a tunnel", "tunnel(f'GET /TUNNELED HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\n\\r\\n')"),
    ("SSH in a tunnel", "tunnel('SSH-2.0-TUNNELED\\r\\n')"),
    ("another name in TLS", "tunnel(hello('evil.example'))"),
    ("a longer name in TLS", "tunnel(hello('allowed.example.evil.example')); tunnel(hello('sub.allowed.example'))"),
    ("no name in TLS", "tunnel(hello(None))"),
    ("another name in TLS, in pieces", "message = hello('evil.example'); tunnel([message[:3], message[3:60], message[60:]])"),
    ("another name in TLS, in small records", "body = hello('evil.example')[5:]\ntunnel(b''.join(b'\\x16\\x03\\x01' + struct.pack('>H', len(body[n:n + 40])) + body[n:n + 40] for n in range(0, len(body), 40)))"),
    ("a hello of TLS without an end", "tunnel(b'\\x16\\x03\\x01\\x40\\x00' * 20000)"),
    ("an alert of TLS before plain text", "tunnel(b'\\x15\\x03\\x01\\x00\\x02\\x01\\x00GET /TUNNELED HTTP/1.1\\r\\n\\r\\n')"),
    ("SSL 2", "tunnel(b'\\x80\\x2e\\x01\\x03\\x01\\x00\\x15\\x00\\x00\\x00\\x10TUNNELED' + bytes(40))"),
    ("a payload behind the request for a tunnel", "refused_or = exchange(connect(ALLOWED) + 'GET /TUNNELED HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); escaped(b'reached' in refused_or)"),
    // Requests that a proxy and a server could read differently. `SMUGGLED` arrives at no server.
    ("a length and chunks", "exchange(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nContent-Length: 6\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\n\\r\\n')"),
    ("two lengths", "refused(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nContent-Length: 0\\r\\nContent-Length: 40\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')"),
    ("two lengths in one header", "refused(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nContent-Length: 0, 40\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')"),
    ("a signed length", "refused(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nContent-Length: +0\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')"),
    ("an unknown encoding", "refused(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nTransfer-Encoding: xchunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')"),
    ("chunks that are not last", "refused(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nTransfer-Encoding: chunked, identity\\r\\n\\r\\n0\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')"),
    ("a chunk of endless size", "exchange(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nfffffffffffffffff\\r\\nSMUGGLED')"),
    ("a header before the colon of which is a space", "refused(f'POST http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nTransfer-Encoding : chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\n\\r\\n')"),
    ("a second request for another host", "answer = exchange(f'GET http://{ALLOWED}/first HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\n\\r\\n' + get(f'http://127.0.0.1:{P}/SMUGGLED')); escaped(answer.count(b'reached') > 1, answer)"),
    ("a body in a request without one", "exchange(f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nContent-Length: 0\\r\\n\\r\\nGET /SMUGGLED HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')"),
    ("a line break in a target", "refused(f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nX-Injected: 1\\r\\n HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\n\\r\\n')"),
    ("a bare line feed in a header", "exchange(f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nA: b\\nConnection: x\\r\\nConnection: close\\r\\n\\r\\n')"),
    ("a bare carriage return in a header", "refused(f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nA: b\\rX-Injected: 1\\r\\n\\r\\n')"),
    ("a zero byte in a header", "refused(f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nA: b\\0X-Injected: 1\\r\\n\\r\\n')"),
    ("headers of the connection", "exchange(get(f'http://{ALLOWED}/', more='Connection: X-Hop\\r\\nX-Hop: HIDDEN\\r\\nProxy-Authorization: Basic HIDDEN\\r\\nTE: HIDDEN\\r\\nProxy-Connection: HIDDEN\\r\\n'))"),
    ("another protocol on the connection of a request", "with proxy() as c:\n  send(c, f'GET http://{ALLOWED}/ HTTP/1.1\\r\\nHost: {ALLOWED}\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')\n  send(c, 'SMUGGLED'); escaped(status(receive(c)) == 101)"),
    ("HTTP/2 without asking", "refused('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + '\\0' * 30)"),
    ("HTTP/0.9", "refused(f'GET http://127.0.0.1:{P}/\\r\\n')"),
    ("an unknown version", "refused(f'GET http://127.0.0.1:{P}/ HTTP/9.9\\r\\nHost: 127.0.0.1:{P}\\r\\n\\r\\n')"),
    // Other protocols, and the proxy itself.
    ("SOCKS 5", "escaped(exchange(b'\\x05\\x01\\x00')[:2] == b'\\x05\\x00')"),
    ("SOCKS 4", "escaped(exchange(b'\\x04\\x01' + struct.pack('>H', P) + bytes([127, 0, 0, 1]) + b'\\0')[:2] == b'\\x00\\x5a')"),
    ("TLS to the proxy", "escaped(exchange(hello('localhost'))[:1] == b'\\x16')"),
    ("the proxy through itself", "refused(connect('127.0.0.1:3128')); refused(get('http://127.0.0.1:3128/v1/node/poll')); refused(get('http://localhost:3128/'))"),
    ("routes of the orchestrator", "for path in ('/v1/node/poll', '/v1/tasks', '/v1/users', '/metrics', '/v1/egress/../tasks', '//v1/tasks', '/v1%2ftasks'): refused(get(path, '127.0.0.1:3128'))"),
    ("requests without a host", "refused('OPTIONS * HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); refused('TRACE / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); refused('CONNECT / HTTP/1.1\\r\\n\\r\\n')"),
    // Too large, too many, too slow: others are served meanwhile.
    ("a head of a mebibyte", "refused(get(f'http://{ALLOWED}/', more='A: ' + 'b' * (1 << 20) + '\\r\\n'))"),
    ("a target of a mebibyte", "refused(get(f'http://{ALLOWED}/' + 'a' * (1 << 20)))"),
    ("ten thousand headers", "refused(get(f'http://{ALLOWED}/', more='A: b\\r\\n' * 10000))"),
    ("a name of a thousand bytes", "refused(connect('a.' * 500 + f'example:{P}'))"),
    ("heads that never end", "held = [proxy() for _ in range(30)]\nfor c in held: send(c, 'GET http://')\nescaped(b'reached' not in exchange(get(f'http://{ALLOWED}/slow'), 10), 'another request was not served')\nfor c in held: c.close()"),
    ("tunnels that stay silent", "held = [proxy() for _ in range(10)]\nfor c in held: send(c, connect(ALLOWED))\nescaped(b'reached' not in exchange(get(f'http://{ALLOWED}/silent'), 10), 'another request was not served')\nfor c in held: c.close()"),
];
