#!/usr/bin/python3
"""usage: browse.py <folder of the site> <folder for screenshots>

Serves the site, opens every page in Chromium, and fails on a link without a page or an anchor, an error in the console,
a request that fails or goes to another host, and a search that finds nothing.
"""
import functools
import http.server
import json
import shutil
import sys
import threading
from urllib.parse import unquote, urldefrag

if not shutil.which("chromedriver"):
    print("skipped: no chromedriver here")
    sys.exit(77)

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 120
problems = []


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_request(self, code="-", size="-"):
        if int(code) >= 400:
            problems.append(f"{self.path}: status {int(code)}")

    def log_message(self, *_):
        pass


def start_browser():
    options = webdriver.ChromeOptions()
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1400,1000",
                     "disable-background-networking", "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument("--" + argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def check_logs(browser, base, page):
    problems.extend(f"{page}: {entry['message']}" for entry in browser.get_log("browser") if entry["level"] == "SEVERE")
    for entry in browser.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            url = event["params"]["request"]["url"]
            if not url.startswith((base, "data:", "blob:")):
                problems.append(f"{page}: asks another host: {url}")


def crawl(browser, base):
    """Opens all pages, and checks the links between them. Returns the pages."""
    anchors, links, queue = {}, {}, [base + "index.html"]
    while queue:
        page = queue.pop()
        if page in anchors:
            continue
        browser.get(page)
        anchors[page] = set(browser.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)"))
        for link in set(browser.execute_script("return [...document.querySelectorAll('a[href]')].map(e => e.href)")):
            if link.startswith(base):
                links.setdefault(link.replace(base + "#", base + "index.html#"), page)
                target = urldefrag(link)[0]
                queue.append(target if not target.endswith("/") else target + "index.html")
        check_logs(browser, base, page)
    for link, page in sorted(links.items()):
        target, anchor = urldefrag(link)
        if anchor and unquote(anchor) not in anchors.get(target, ()):
            problems.append(f"{page}: links to {link}, which is not there")
    return anchors


def search(browser, base, word):
    """Types the word, and opens the first page found."""
    browser.get(base + "index.html")
    browser.execute_script("document.querySelector('[data-md-toggle=search]').click()")
    wait = WebDriverWait(browser, PATIENCE)
    field = browser.find_element(By.CSS_SELECTOR, "[data-md-component=search-query]")
    wait.until(lambda _: field.is_displayed() and field.is_enabled())
    field.send_keys(word)
    try:
        found = wait.until(lambda _: browser.find_elements(By.CSS_SELECTOR, "a.md-search-result__link"))
    except TimeoutException:
        problems.append(f"the search for '{word}' finds nothing")
        return
    browser.get(found[0].get_attribute("href"))
    if word not in browser.find_element(By.CSS_SELECTOR, "article").text:
        problems.append(f"the search for '{word}' leads to {browser.current_url}, which does not have the word")
    check_logs(browser, base, browser.current_url)


def picture(browser, url, scheme, file):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                            {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.get(url)
    browser.execute_script("localStorage.clear()")
    browser.get(url)
    browser.save_screenshot(file)


def main(site, pictures):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    browser = start_browser()
    try:
        pages = crawl(browser, base)
        search(browser, base, "quarantine")
        picture(browser, base + "index.html", "light", f"{pictures}/home_light.png")
        picture(browser, base + "docs/reference/client.html", "dark", f"{pictures}/reference_dark.png")
        check_logs(browser, base, "screenshots")
    finally:
        browser.quit()
    if len(pages) < 50:
        problems.append(f"only {len(pages)} pages were found")
    print("\n".join(problems) or f"{len(pages)} pages")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
