"""Measuring other programs: wall time, peak anonymous memory, medians of alternating runs. Standard library only."""
import json
import pathlib
import statistics
import subprocess
import time


def run(words, **options):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\nexit {done.returncode}\n{done.stderr}{done.stdout[:2000]}")
    return done.stdout


def run_json(words, **options):
    return json.loads(run(words, **options))


def run_watched(words, interval=0.002):
    """Runs a command; returns (seconds, peak anonymous bytes), the latter sampled from /proc."""
    start = time.monotonic()
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    peak = 0
    while process.poll() is None:
        try:
            for line in status.read_text().splitlines():
                if line.startswith("RssAnon:"):
                    peak = max(peak, int(line.split()[1]) * 1024)
        except (FileNotFoundError, ProcessLookupError):
            break
        time.sleep(interval)
    seconds = time.monotonic() - start
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{process.stderr.read()}")
    return seconds, peak


def alternating(*measures, rounds=5):
    """Calls each measure in turn, `rounds` times; the medians of what they return."""
    results = [[] for _ in measures]
    for _ in range(rounds):
        for kept, measure in zip(results, measures):
            kept.append(measure())
    return [statistics.median(kept) for kept in results]


class Table:
    """Figures beside their bars."""

    def __init__(self):
        self.rows, self.failed = [], 0

    def add(self, what, value, bar, holds):
        self.failed += not holds
        self.rows.append((what, value, bar, "ok" if holds else "MISSED"))

    def print(self):
        widths = [max(len(str(row[i])) for row in self.rows) for i in range(4)]
        for row in self.rows:
            print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
        print(f"{len(self.rows) - self.failed} of {len(self.rows)} bars hold")
