"""Notebook outputs and the pages of the site in a browser: no script fails, nothing is wider than the window.

Chromium is driven over the DevTools protocol, by a websocket of the standard library.
"""

from __future__ import annotations

import base64
import html
import itertools
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.everything import EVERYTHING, LONG, made

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.crosscheck,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
ROOT = Path(__file__).resolve().parents[2]
SCHEMES = ("light", "dark")

NOTEBOOK = """<!doctype html><html><head><meta charset="utf-8"><style>
body {{ font: 13px system-ui, Helvetica, sans-serif; margin: 16px; background: {background}; color: {color} }}
table {{ border-collapse: collapse; font-size: 12px; table-layout: fixed }}
tr, th, td {{ text-align: right; padding: 0.5em; white-space: normal; border: none }}
.output {{ overflow-x: auto }}
</style></head><body>{body}</body></html>"""
"""A page with the style that notebooks give to outputs."""


class Socket:
    """The client's side of a websocket that carries text."""

    def __init__(self, address: str) -> None:
        host, _, path = address.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.stream = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        asked = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        self.stream.sendall(f"{asked}Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self.stream.recv(1)
        assert b" 101 " in answer

    def send(self, text: str) -> None:
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + struct.pack(">H", size)
        if size >= 1 << 16:
            length = bytes([0xFF]) + struct.pack(">Q", size)
        self.stream.sendall(b"\x81" + length + mask + bytes(b ^ mask[k % 4] for k, b in enumerate(data)))

    def receive(self) -> str:
        parts, is_last = [], False
        while not is_last:
            first, second = self._exactly(2)
            is_last, size = bool(first & 0x80), second & 0x7F
            if size > 125:
                size = int.from_bytes(self._exactly(2 if size == 126 else 8), "big")
            parts.append(self._exactly(size))
        return b"".join(parts).decode()

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            found += self.stream.recv(size - len(found))
        return found


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, folder: Path) -> None:
        options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0")
        self.process = subprocess.Popen(
            [CHROMIUM, *options, f"--user-data-dir={folder}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port = self._port(folder / "DevToolsActivePort")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            pages = [page for page in json.load(answer) if page["type"] == "page"]
        self.socket, self.number = Socket(pages[0]["webSocketDebuggerUrl"]), 0
        self.events: list[dict] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _port(self, file: Path) -> str:
        for _ in range(600):
            if file.exists() and (text := file.read_text()).count("\n"):
                return text.split("\n")[0]
            time.sleep(0.1)
        raise AssertionError("Chromium did not start.")

    def call(self, method: str, **parameters: object) -> dict:
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def wait(self, event: str) -> None:
        while not any(message.get("method") == event for message in self.events):
            self.events.append(json.loads(self.socket.receive()))

    def look(self, address: str, scheme: str, width: int) -> None:
        """Load a page in a window of this width, in light or dark colors."""
        self.events.clear()
        self.dress(scheme, width)
        self.call("Page.navigate", url=address)
        self.wait("Page.loadEventFired")

    def dress(self, scheme: str, width: int) -> None:
        """Give the page that is loaded other colors and another width."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def value(self, expression: str) -> object:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def failures(self) -> list[str]:
        """The errors of scripts, and what was not found."""
        self.value("1")  # what was said before this is among the events
        errors = [e["params"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        logged = [e["params"]["entry"] for e in self.events if e.get("method") == "Log.entryAdded"]
        return [json.dumps(e) for e in [*errors, *(entry for entry in logged if entry["level"] == "error")]]

    def overflow(self) -> float:
        """How many pixels of the page are outside the window."""
        wide = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        self.settled(f"{wide} <= 0")
        return float(self.value(wide))

    def settled(self, expression: str) -> bool:
        """Whether something becomes true within two seconds, in which scripts run and menus slide away."""
        return any(self.value(expression) or time.sleep(0.1) for _ in range(20))

    def close(self) -> None:
        self.socket.stream.close()
        self.process.terminate()
        self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    made = Browser(tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()


class Silent(SimpleHTTPRequestHandler):
    """A server that logs nothing."""

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("mkdocs", "material", "mkdocstrings_handlers.python", "latex2mathml"):
        pytest.importorskip(package, reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("pages")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    subprocess.run(build, check=True, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def outputs(scheme: str) -> str:
    """A page with everything that has a display, as a notebook shows it."""
    things = [(name, made(name)) for name in EVERYTHING] + [(f"long {name}", make()) for name, make in LONG.items()]
    body = "".join(
        f'<h4>{html.escape(name)}</h4><div class="output">{thing._repr_html_()}</div>' for name, thing in things
    )
    colors = {"background": "#111", "color": "#ddd"} if scheme == "dark" else {"background": "#fff", "color": "#000"}
    return NOTEBOOK.format(body=body, **colors)


OVERLAPS = """
[...document.querySelectorAll('svg')].flatMap(svg => {
  const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  const found = [];
  for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
    const [a, b] = [boxes[i][1], boxes[j][1]];
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (x > 1 && y > 3) found.push(boxes[i][0] + ' / ' + boxes[j][0]);
  }
  return found;
})
"""
"""The texts of pictures that lie on one another."""

CLIPPED = """
[...document.querySelectorAll('svg')].filter(svg => getComputedStyle(svg).overflow !== 'visible').flatMap(svg => {
  const whole = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(t => {
    const box = t.getBoundingClientRect();
    return box.left < whole.left - 1 || box.right > whole.right + 1 || box.top < whole.top - 1
      || box.bottom > whole.bottom + 1;
  }).map(t => t.textContent);
})
"""
"""The texts that leave their picture."""

CONTRAST = """
(() => {
  const linear = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const back = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor, n = c.match(/[\\d.]+/g).map(Number);
    if (n.length < 4 || n[3] === 1) return c; } return 'rgb(255,255,255)'; };
  const ratio = e => { const pair = [light(getComputedStyle(e).color), light(back(e))];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05); };
  return [...document.querySelectorAll('td, th, caption, p, code, pre')].filter(e => e.textContent.trim()
    && ratio(e) < 4.5).map(e => e.textContent.slice(0, 40));
})()
"""
"""The texts of tables whose color is too near to that of what is behind them."""


FAINT = """
(() => {
  const linear = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const page = light(getComputedStyle(document.body).backgroundColor);
  const ratio = e => { const own = light(getComputedStyle(e).fill);
    return (Math.max(own, page) + 0.05) / (Math.min(own, page) + 0.05); };
  const inside = e => [...e.closest('svg').querySelectorAll('image')].some(i => {
    const [a, b] = [i.getBoundingClientRect(), e.getBoundingClientRect()];
    return a.left <= b.left && b.right <= a.right && a.top <= b.top && b.bottom <= a.bottom; });
  return [...document.querySelectorAll('.shown svg text')].filter(e => e.textContent.trim()
    && !inside(e) && ratio(e) < 4.5).map(e => e.textContent.slice(0, 40));
})()
"""
"""The texts of pictures whose color is too near to that of the page, but for those on images."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_outputs_of_notebooks(browser, tmp_path, scheme):
    page = tmp_path / "outputs.html"
    page.write_text(outputs(scheme), encoding="utf-8")
    browser.look(page.as_uri(), scheme, width=1000)
    assert browser.failures() == []
    assert browser.overflow() <= 0
    assert browser.value(OVERLAPS) == []
    assert browser.value(CLIPPED) == []
    assert browser.value(CONTRAST) == []


def wrongs(browser, address):
    """The errors of a page's scripts, and in which windows it is too wide."""
    browser.look(address, "light", 1280)
    for scheme, width in itertools.product(SCHEMES, (1280, 400)):
        browser.dress(scheme, width)
        if (wide := browser.overflow()) > 0:
            yield f"{wide:g} pixels too wide for {width}, {scheme}"
        name = {"light": "default", "dark": "slate"}[scheme]
        if not browser.settled(f"document.body.dataset.mdColorScheme === '{name}'"):
            yield f"the page is not {scheme}"
        yield from (f"{found} on one another, {width}, {scheme}" for found in browser.value(OVERLAPS))
        yield from (f"{found} leaves its picture, {width}, {scheme}" for found in browser.value(CLIPPED))
        yield from (f"{found} is hardly legible, {width}, {scheme}" for found in browser.value(FAINT))
    yield from browser.failures()


def test_pages_of_the_site(browser, site):
    """The page of errors is left out, whose addresses begin at the root of the site's own server."""
    folder, address = site
    pages = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.html")) if path.name != "404.html"]
    found = {page: list(wrongs(browser, f"{address}/{page}")) for page in pages}
    assert {page: wrong for page, wrong in found.items() if wrong} == {}
