"""Nodes on this machine, on which all programs of a run are measured."""

import ctypes
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from harness.trouble import Trouble

PATIENCE = 60


def end_with_parent():
    """Runs in the child: the kernel kills the child when its parent has ended, in whatever way."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def free_port():
    """Returns a free port, below the ports of tests and of the system's outgoing connections."""
    while True:
        port = random.randint(10_000, 11_999)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def make_certificate(folder):
    """Makes a certificate for 127.0.0.1 that is its own authority."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "ca.pem"],
        capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Trouble(f"openssl makes no certificate: {made.stderr.strip()}")


class Master:
    """One node. It keeps nothing on disk, and accepts TCP, TLS and a unix socket."""

    def __init__(self, program, folder, number):
        self.program, self.folder = program, folder
        self.socket_path = folder / f"{number}.sock"
        self.log = folder / f"{number}.log"
        self.launch()

    def launch(self):
        folder = self.folder
        self.port, self.tls_port = free_port(), free_port()
        tls = ["--tls-port", self.tls_port, "--tls-cert-file", folder / "ca.pem",
               "--tls-key-file", folder / "key.pem", "--tls-ca-cert-file", folder / "ca.pem",
               "--tls-auth-clients", "no"]
        arguments = [self.program, "--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port",
                     self.port, "--unixsocket", self.socket_path, "--dir", folder, *tls]
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=end_with_parent)

    def await_answer(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                # Another program may have taken the port first.
                if "Address already in use" not in self.log.read_text(encoding="utf-8"):
                    break
                self.launch()
            try:
                if f"process_id:{self.process.pid}\r\n" in self.ask("INFO server"):
                    return
            except OSError:
                pass
            time.sleep(0.005)
        raise Trouble(f"a node does not start:\n{self.log.read_text(encoding='utf-8')}")

    def ask(self, command):
        """Sends a command and returns the reply: its line, or the content of a bulk string."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self.socket_path))
            connection.sendall(f"{command}\r\n".encode())
            reply = connection.makefile("rb")
            line = reply.readline().decode().rstrip()
            if line.startswith("-"):
                raise Trouble(f"a node refuses {command}: {line}")
            return reply.read(int(line[1:])).decode() if line.startswith("$") else line

    def fields(self, section):
        lines = self.ask(f"INFO {section}").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def url(self, transport):
        return {
            "tcp": f"redis://127.0.0.1:{self.port}",
            "tls": f"rediss://127.0.0.1:{self.tls_port}",
            "unix": f"unix://{self.socket_path}",
        }[transport]


class Masters:
    """Some independent nodes, which end with this object and with the process."""

    def __init__(self, count, program):
        if shutil.which(program) is None:
            raise Trouble(f"no {program} here")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="redlock-bench-"))
        self.all = []
        try:
            make_certificate(self.folder)
            self.all = [Master(program, self.folder, i) for i in range(count)]
            for master in self.all:
                master.await_answer()
        except BaseException:
            self.end()
            raise

    def end(self):
        for master in self.all:
            master.process.kill()
            master.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def ca_file(self):
        return self.folder / "ca.pem"

    def version(self):
        fields = self.all[0].fields("server")
        if "valkey_version" in fields:
            return f"valkey {fields['valkey_version']}"
        return f"redis {fields['redis_version']}"

    def urls(self, count, transport="tcp"):
        return [master.url(transport) for master in self.all[:count]]

    def pids(self, count):
        return [str(master.process.pid) for master in self.all[:count]]

    def begin_anew(self):
        """Deletes all keys, and sets all counters of the nodes to zero."""
        for master in self.all:
            master.ask("FLUSHALL")
            master.ask("CONFIG RESETSTAT")

    def counted(self, count):
        """Counts what the first nodes have done since then: SETs of each, and bytes of all."""
        sets, size = 0, 0
        for master in self.all[:count]:
            told = master.fields("commandstats").get("cmdstat_set", "calls=0,")
            sets += int(told.split("calls=")[1].split(",")[0])
            traffic = master.fields("stats")
            size += int(traffic["total_net_input_bytes"]) + int(traffic["total_net_output_bytes"])
        return {"sets": sets / count, "bytes": size}
