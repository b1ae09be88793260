#!/usr/bin/env python3
"""usage: reserve_ports.py COUNT
Prints so many loopback ports, and reserves them for a shell script until its standard input ends.

As test/support/port.cpp does: other tests leave these ports alone while nothing listens there, and
the kernel takes none of them for an outgoing connection."""

import os
import pathlib
import socket
import sys

FIRST = 12_000


def claim(port):
    """A socket that holds the abstract name of the port; None where another test has it."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(f"\0redlock-test-port-{port}")
    except OSError:
        held.close()
        return None
    return held


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def main():
    wanted = int(sys.argv[1])
    end = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    count = max(end, FIRST + 1_000) - FIRST
    ports, claims = [], []
    for i in range(count):
        port = FIRST + (os.getpid() * 37 + i) % count
        held = claim(port)
        if held is None:
            continue
        claims.append(held)
        if is_free(port):
            ports.append(port)
        if len(ports) == wanted:
            break
    print(*ports, flush=True)
    sys.stdin.read()


main()
