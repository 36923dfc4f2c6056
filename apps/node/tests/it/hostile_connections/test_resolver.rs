//! Names of hosts for a node under test: a preloaded library answers for `*.example`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `rebind.example` is at another address at every second lookup.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <string.h>
typedef int lookup(const char *, const char *, const struct addrinfo *, struct addrinfo **);
static atomic_int lookups;
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    lookup *real = (lookup *)dlsym(RTLD_NEXT, "getaddrinfo");
    size_t length = name ? strlen(name) : 0;
    if (length < 8 || strcmp(name + length - 8, ".example") != 0)
        return real(name, service, hints, found);
    if (!strcmp(name, "allowed.example")) return real("127.0.0.2", service, hints, found);
    if (!strcmp(name, "internal.example")) return real("127.0.0.1", service, hints, found);
    if (!strcmp(name, "mapped.example")) return real("::ffff:127.0.0.1", service, hints, found);
    if (!strcmp(name, "rebind.example"))
        return real(atomic_fetch_add(&lookups, 1) % 2 ? "127.0.0.1" : "127.0.0.2", service, hints, found);
    if (!strcmp(name, "mixed.example")) {
        struct addrinfo *last;
        int result = real("127.0.0.2", service, hints, found);
        if (result) return result;
        for (last = *found; last->ai_next; last = last->ai_next) {}
        return real("127.0.0.1", service, hints, &last->ai_next);
    }
    return EAI_NONAME;
}
"#;

/// The compiled library.
pub(super) struct TestResolver {
    library: PathBuf,
}

impl TestResolver {
    /// Compiles the library into `directory`.
    pub(super) fn build(directory: &Path) -> Self {
        let (source, library) = (directory.join("resolver.c"), directory.join("resolver.so"));
        fs::write(&source, SOURCE).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
        assert!(compiler.status().unwrap().success(), "the C compiler failed");
        Self { library }
    }

    /// The variables of a process that looks names up with it.
    pub(super) fn environment(&self) -> [(&'static str, &Path); 1] {
        [("LD_PRELOAD", &self.library)]
    }
}
