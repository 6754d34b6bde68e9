// SPDX-License-Identifier: Apache-2.0
// The elements of the page, by their ids.

export function element<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as Kind;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

export function perSecond(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} tokens/s`;
}
