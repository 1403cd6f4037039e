#!/usr/bin/env python3
"""Performs SyncStock(stock)."""
import json
import sys
import traceback


def perform(stock):
    for name, number in sorted(stock.items()):
        if number < 0:
            raise ValueError(f"{number} {name}")
        print(f"{number} {name}")


try:
    perform(*json.load(sys.stdin)["args"])
except Exception as error:
    lines = [f"{f.filename}:{f.lineno}:in `{f.name}'" for f in reversed(traceback.extract_tb(error.__traceback__))]
    print(json.dumps({"exception": type(error).__name__, "error": str(error), "backtrace": lines}), file=sys.stderr)
    sys.exit(1)
