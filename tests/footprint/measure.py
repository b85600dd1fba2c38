#!/usr/bin/env python3
"""Measures firmware images against ci/budgets.toml.

    measure.py size IMAGES    flash, RAM and stack of each image; no panics, no formatting
    measure.py count IMAGES   executed instructions; IMAGES/icount.so is the counter

IMAGES holds the linked programs, `NAME` and, with a feature, `NAME+FEATURE`. Ends with 1 if anything is over its budget.
"""

import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGETS = tomllib.loads((ROOT / "ci/budgets.toml").read_text())
QEMU = ["qemu-system-arm", "-M", "mps2-an386", "-nographic"]
QEMU += ["-semihosting-config", "enable=on,target=native"]


# Builder, planner and reader of model files are for the compiler.
NOT_IN_FIRMWARE = r"core::fmt|core::panicking|dinrail_core::(plan|graph::build)|dinrail_gguf"


def output(command, **options):
    options = {"check": True, "capture_output": True, "text": True, "stdin": subprocess.DEVNULL} | options
    return subprocess.run([str(c) for c in command], **options)


def image(entry, folder):
    feature = entry.get("features")
    return folder / (entry["bin"] + (f"+{feature}" if feature else ""))


def sections(path):
    """Bytes of flash and of static RAM."""
    flash = ram = 0
    for line in output(["arm-none-eabi-size", "-A", path]).stdout.splitlines():
        words = line.split()
        if len(words) != 3 or not words[1].isdigit():
            continue
        name, size = words[0], int(words[1])
        if name in (".vector_table", ".text", ".rodata", ".model", ".data") or name.startswith(".gnu.sg"):
            flash += size
        if name in (".data", ".bss", ".uninit"):
            ram += size
    return flash, ram


def stack(path):
    """What the program itself says."""
    run = output([*QEMU, "-kernel", path], timeout=300)
    found = re.search(r"^stack (\d+)", run.stdout, re.M)
    return int(found[1]) if found else None


def forbidden(path):
    """What must not be linked in: formatting, panics and who reaches them; what has done its work in the compiler."""
    found = []
    for line in output(["arm-none-eabi-nm", "-C", path]).stdout.splitlines():
        name = line.split(None, 2)[-1]
        if re.search(r" [tTwW] ", line) and re.search(NOT_IN_FIRMWARE, name):
            found.append(name)
    function = ""
    for line in output(["arm-none-eabi-objdump", "-d", "-C", "--no-show-raw-insn", path]).stdout.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = head[1]
        elif " <core::panicking" in line:
            found.append(f"{function}, which panics")
    return sorted(set(found))


def allowed(entry, what):
    """The entry in force. Each has a reason, and none passes the bound."""
    entries = entry[what]
    most = entry["most"].get(what) if isinstance(entry["most"], dict) else entry["most"]
    for value, why in entries:
        assert len(why) > 8, f"{entry['name']}: {value} needs a line that says why"
        assert most is None or value <= most, f"{entry['name']}: {value} is past {most}"
    return entries[-1][0]


def row(name, what, value, limit, peer):
    over = value > limit
    print(f"{name:40} {what:12} {value:>9} {limit:>9} {'OVER' if over else '':4} {peer}")
    return over


def size(folder):
    bad = False
    print(f"{'image':40} {'':12} {'measured':>9} {'allowed':>9} {'':4} peer")
    for entry in BUDGETS["image"]:
        path = image(entry, folder)
        flash, ram = sections(path)
        for name in entry.get("embedded", []):
            flash -= (ROOT / "examples/models" / name).stat().st_size
        if "over" in entry:
            base = sections(folder / entry["over"])
            flash, ram = flash - base[0], ram - base[1]
        bad |= row(entry["name"], "flash", flash, allowed(entry, "flash"), entry["peer"])
        bad |= row("", "static RAM", ram, allowed(entry, "ram"), "")
        if "stack" in entry:
            used = stack(path)
            if used is None:
                print(f"{path.name} did not say how deep its stack was", file=sys.stderr)
                bad = True
            else:
                bad |= row("", "stack", used, allowed(entry, "stack"), "")
        for name in forbidden(path):
            print(f"{path.name} has {name}", file=sys.stderr)
            bad = True
    return bad


def marks(path, folder):
    """Instructions executed at each mark."""
    names = output(["arm-none-eabi-nm", path]).stdout
    address = re.search(r"^([0-9a-f]+) T dinrail_mark$", names, re.M)[1]
    plugin = f"{folder / 'icount.so'},mark=0x{address}"
    run = output([*QEMU, "-plugin", plugin, "-kernel", path], timeout=600)
    return [int(n) for n in re.findall(r"^mark (\d+)", run.stderr, re.M)]


def count(folder):
    bad, known = False, {}
    print(f"{'work':40} {'':12} {'measured':>9} {'allowed':>9} {'':4} peer")
    for entry in BUDGETS["work"]:
        path = image(entry, folder)
        if path not in known:
            known[path] = marks(path, folder)
        at = known[path]
        if "pairs" in entry:
            first, end = entry["pairs"]
            value = sum(at[2 * k + 1] - at[2 * k] for k in range(first, end)) // (end - first)
        else:
            value = at[entry["to"]] - at[entry["from"]]
        limit = allowed(entry, "instructions")
        bad |= row(entry["name"], "instructions", value, limit, entry["peer"])
    return bad


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("size", "count"):
        sys.exit(__doc__)
    work = {"size": size, "count": count}[sys.argv[1]]
    sys.exit(1 if work(pathlib.Path(sys.argv[2])) else 0)
