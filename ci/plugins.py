"""Looks at plug-ins and at what ggml's tests say of them; ci/plugins.sh calls it.

ci/plugins.py initialisers FILE…          what runs when a library is loaded, and fails if it is anything of ours
ci/plugins.py support support.csv [--table]   how many cases of ggml's tests a device says that it supports
"""

import collections
import csv
import pathlib
import struct
import sys

# The C run-time's, which does nothing here, the one with which Rust's standard library notes the program's arguments, and
# those with which GCC's run-time on 64-bit Arm asks the system what the processor has. All are compiled for the
# architecture's baseline.
ALLOWED = ("frame_dummy", "std::sys::args", "std3sys4args", "register_tm_clones", "init_have_lse_atomics",
           "__init_cpu_features")


def initialisers(path):
    """Names of the functions that the system calls when it loads a 64-bit ELF library."""
    elf = path.read_bytes()
    assert elf[:5] == b"\x7fELF\x02", f"{path}: no 64-bit ELF file"
    table, = struct.unpack_from("<Q", elf, 40)
    size, count, names_at = struct.unpack_from("<HHH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, table + i * size) for i in range(count)]
    text = lambda section, at: elf[sections[section][4] + at:].split(b"\0", 1)[0].decode()
    named = {text(names_at, s[0]): s for s in sections}
    symbols = {}
    _, _, _, _, at, length, strings, *_ = named[".symtab"]
    for i in range(at, at + length, 24):
        name, info, _, _, value, _ = struct.unpack_from("<IBBHQQ", elf, i)
        if info & 15 == 2:
            symbols[value] = text(strings, name)
    calls = []
    for kind in (".preinit_array", ".init_array"):
        if kind not in named:
            continue
        first, size = named[kind][3], named[kind][5]
        relocated = {}
        for s in sections:
            for i in range(s[4], s[4] + s[5], 24) if s[1] == 4 else ():
                offset, _, addend = struct.unpack_from("<QQq", elf, i)
                relocated[offset] = addend
        calls += [relocated.get(a, 0) for a in range(first, first + size, 8)]
    return [symbols.get(c, hex(c)) for c in calls]


def support(path, write_table):
    """Prints how many cases are supported; writes the table of them if told to."""
    lines = path.read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if line.startswith('"')))
    assert len(rows) > 1000, "test-backend-ops said nothing"
    cases, supported = collections.Counter(), collections.Counter()
    for row in rows:
        cases[row["op_name"]] += 1
        supported[row["op_name"]] += row["supported"] in ("1", "yes", "true")
    total = sum(supported.values())
    some = sum(n > 0 for n in supported.values())
    print(f"test-backend-ops: {total} of {len(rows)} cases are supported, of {some} operations")
    if not write_table:
        return
    page = ["# Cases of ggml's tests that the exported CPU backend supports", ""]
    page += ["Written by `ci/plugins.sh --table` from what `test-backend-ops support` of ggml 0.25 says.", ""]
    page += ["| operation | supported | cases |", "|---|---:|---:|"]
    page += [f"| `{op}` | {supported[op]} | {n} |" for op, n in sorted(cases.items()) if supported[op]]
    none = ", ".join(f"`{op}`" for op in sorted(cases) if not supported[op])
    page += [f"| all | {total} | {len(rows)} |", "", f"No case of: {none}."]
    pathlib.Path("docs/ggml-cases.md").write_text("\n".join(page) + "\n")


if sys.argv[1] == "initialisers":
    for path in map(pathlib.Path, sys.argv[2:]):
        found = initialisers(path)
        print(f"  {path.name}: {', '.join(found) or 'none'}")
        ours = [name for name in found if not any(word in name for word in ALLOWED)]
        assert not ours, f"{path.name} runs code of its own when it is loaded: {ours}"
else:
    support(pathlib.Path(sys.argv[2]), "--table" in sys.argv)
