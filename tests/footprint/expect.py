#!/usr/bin/env python3
"""Compares what a firmware printed with the reference.

    expect.py detector|story FILE f32|q8
    expect.py cooperative|tasks|interrupts|faults|defmt FILE
"""

import json
import pathlib
import re
import struct
import sys

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "examples/models/reference"


def reference(name):
    return json.loads((REFERENCE / name).read_text())


def close(got, want, tolerance):
    assert abs(got - want) <= tolerance * abs(want), f"{got} instead of {want}"


def detector(text, kind):
    """The bits of each window's error."""
    got = [struct.unpack(">f", bytes.fromhex(h))[0] for h in re.findall(r"^mse ([0-9a-f]{8})$", text, re.M)]
    want = reference("ad01.json")["window_mse"]
    assert len(got) == len(want), f"{len(got)} windows"
    for g, w in zip(got, want):
        # The reference is of the model in f32; 8-bit weights and activations move single windows by some percent.
        close(g, w, 1e-4 if kind == "f32" else 0.1)
    close(sum(got), sum(want), 2e-5 if kind == "f32" else 0.02)
    print(f"{len(got)} windows, the first {got[0]:.6f}, the mean {sum(got) / len(got):.6f}")


def story(text, kind):
    name = {"f32": "stories260K-f32.json", "q8": "stories260K-Q8_0.json"}[kind]
    case = next(c for c in reference(name)["cases"] if c["prompt"] == "Once upon a time")
    told = text.split("\nstack ")[0].replace("\r", "").strip()
    want = case["prompt"] + case["greedy_text"]
    assert told == want.strip(), f"{told!r} instead of {want!r}"
    print(told)


def numbers(text):
    return {k: int(v) for k, v in re.findall(r"^([a-z-]+) (\d+)$", text, re.M)}


def cooperative(text, _):
    found = numbers(text)
    assert found["ticks"] > 8 and "." in text, "the interrupt did not get through"
    # A clock is 40 instructions here, a token some 25,000 clocks; no step may take a tenth of that.
    assert found["longest-step-clocks"] < 2_500, found


def tasks(text, _):
    """The story's beginning, and what the other task got done meanwhile."""
    case = next(c for c in reference("stories260K-f32.json")["cases"] if c["prompt"] == "Once upon a time")
    want = case["prompt"] + case["greedy_text"]
    told = text.split("\nticks ")[0].split("\n", 1)[1].strip()
    assert len(told) > 30 and want.strip().startswith(told), f"{told!r} instead of {want!r}"
    found = numbers(text)
    # A token takes some seven ticks; the task that blinks gets nearly all of them, and none late.
    ticks = found["ticks"] - found["ticks-of-prompt"]
    assert ticks > 80 and found["blinks"] > 0.9 * ticks, found
    assert found["longest-wait-ticks"] <= 2, found


def interrupts(text, _):
    """What the interrupt found: the first lines are of the interrupts in the middle of registrations."""
    assert re.match(r"busy 4\n", text), text
    found = numbers(text)
    assert found["found"] > 500 and found["missed"] == 0 and found["busy"] > 4 and found["backends"] == 5, found
    assert "full 5 4\n" in text, text


def faults(text, _):
    lines = dict(l.split(": ", 1) for l in text.splitlines() if ": " in l)
    for what, pattern in {
        "arena one byte too small": r"(\d+) needed, capacity is (\d+)",
        "arena at an odd address": r"0x[0-9a-f]+ is not a multiple of 8",
        "model cut off": r"\d+ needed, capacity is \d+",
        "model at an odd address": r"is not a multiple of 8",
        "arena in flash": r"may only be read",
        "heap too small": r"1025 .*1024",
        "file cut off": r"\d+ bytes are needed at byte \d+, the file has 1000",
        "file of a big-endian machine": r"big-endian GGUF file \(version 3\)",
        "registry with two slots": r"registry slots: 3 needed, capacity is 2",
        "the same memory twice": r"2 needed, capacity is 1",
    }.items():
        assert re.search(pattern, lines[what]), f"{what}: {lines[what]}"
    assert lines["file cut off, at an odd address"] == lines["file cut off"]
    need, have = re.search(r"(\d+) needed, capacity is (\d+)", lines["arena one byte too small"]).groups()
    assert int(need) == int(have) + 1


def defmt(text, _):
    got = [float(x) for x in re.findall(r"mean squared error ([0-9.]+)", text)]
    for g, w in zip(got, reference("ad01.json")["window_mse"], strict=False):
        close(g, w, 2e-5)
    assert len(got) == 4, text


if __name__ == "__main__":
    what, file, *kind = sys.argv[1:]
    text = pathlib.Path(file).read_text()
    globals()[what](text, kind[0] if kind else "f32")
