// SPDX-License-Identifier: Apache-2.0
// The same model in sparse and in dense form.
import type { Model } from 'tulle';
import { barChart } from './chart';
import { element, megabytes, perSecond } from './page';
import type { Picked } from './picker';

const button = element<HTMLButtonElement>('compare');
const summary = element('summary');
const sides = [
  ['dense', 'dense_i8'],
  ['sparse', 'auto'],
] as const;
const prompt = 'Once upon a time there was a weaver who';

export interface Measured {
  readonly name: string;
  readonly decode: number;
  readonly prefill: number;
  readonly weights: number;
}

/** `pause` and `resume` frame a comparison: the model of the chat makes room for it. */
export function offerComparison(pause: () => Promise<void>, resume: () => Promise<void>) {
  let picked: Picked | undefined;
  button.onclick = async () => {
    if (!picked) return;
    const { again } = picked;
    button.disabled = true;
    element('result').hidden = false;
    element('chart').replaceChildren();
    try {
      await pause();
      const measured: Measured[] = [];
      for (const [name, assembly] of sides) {
        summary.textContent = `Loading the ${name} form…`;
        measured.push(await measure(name, () => again({ assembly })));
      }
      element('chart').replaceChildren(barChart(measured));
      const [dense, sparse] = measured as [Measured, Measured];
      summary.textContent =
        `Sparse writes ${(sparse.decode / dense.decode).toFixed(2)} times as fast as dense ` +
        `(${perSecond(sparse.decode)} against ${perSecond(dense.decode)}) and its weights take ` +
        `${megabytes(sparse.weights)} against ${megabytes(dense.weights)}.`;
    } catch (error) {
      summary.textContent = String(error);
    } finally {
      await resume();
      button.disabled = picked === undefined;
    }
  };
  return {
    use(next: Picked | undefined) {
      picked = next;
      button.disabled = next === undefined;
    },
  };
}

async function measure(name: 'dense' | 'sparse', load: () => Promise<Model>): Promise<Measured> {
  const text = element(`${name}-text`);
  text.textContent = prompt;
  const model = await load();
  try {
    summary.textContent = `The ${name} form writes…`;
    await model.generate(prompt, { maxNewTokens: 8 }).result; // the first tokens run code that is still being compiled
    const generation = model.generate(`${prompt} `, { maxNewTokens: 64, ignoreEos: true });
    for await (const piece of generation) text.append(piece.text);
    const { timings } = await generation.result;
    const { info } = model;
    return {
      name,
      decode: timings.decodeTokensPerSecond,
      prefill: timings.prefillTokensPerSecond,
      weights: info.weightBytes,
    };
  } finally {
    await model.dispose();
  }
}
