// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium, by playwright-core.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const executablePath = process.env.TULLE_CHROMIUM ?? '/usr/bin/chromium';

/** Why browser tests are skipped; false where they run. */
export const noBrowser = existsSync(executablePath) ? false : `${executablePath} is missing; run tools/setup-browser`;

export function launch() {
  return chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A page that has `tulle` (the package) and helpers; what fails in it is printed. */
export async function open(context, url) {
  const page = await context.newPage();
  page.on('pageerror', (error) => console.error('page:', error));
  page.on('console', (message) => message.type() === 'error' && console.error('console:', message.text()));
  await page.goto(url);
  await page.waitForFunction(() => globalThis.tulle);
  return page;
}
