// SPDX-License-Identifier: Apache-2.0
// Bars for two forms of a model.
import { megabytes, perSecond } from './page';
import type { Measured } from './compare';

const namespace = 'http://www.w3.org/2000/svg';

function shape(name: string, attributes: Record<string, string | number>, text = ''): SVGElement {
  const element = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

export function barChart(measured: readonly Measured[]): SVGElement {
  const rows = [
    { title: 'writing', value: (each: Measured) => each.decode, text: perSecond },
    { title: 'reading', value: (each: Measured) => each.prefill, text: perSecond },
    { title: 'weights', value: (each: Measured) => each.weights, text: megabytes },
  ];
  const height = rows.length * 64;
  const label = rows
    .map(
      ({ title, value, text }) => `${title}: ${measured.map((each) => `${each.name} ${text(value(each))}`).join(', ')}`,
    )
    .join('; ');
  const chart = shape('svg', { viewBox: `0 0 360 ${height}`, role: 'img', 'aria-label': label });
  rows.forEach(({ title, value, text }, row) => {
    const most = Math.max(...measured.map(value), 1e-9);
    chart.append(shape('text', { x: 0, y: row * 64 + 12 }, title));
    measured.forEach((each, index) => {
      const y = row * 64 + 18 + index * 20;
      const width = (value(each) / most) * 190;
      chart.append(
        shape('rect', { class: each.name, x: 0, y, width, height: 16, rx: 2 }),
        shape('text', { x: width + 6, y: y + 12 }, `${each.name}: ${text(value(each))}`),
      );
    });
  });
  return chart;
}
