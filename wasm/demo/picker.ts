// SPDX-License-Identifier: Apache-2.0
// Choosing a model: a form, dropped files, progress.
import { loadModel, type LoadOptions, type LoadProgress, type Model, type ModelSource } from 'tulle';
import { element, megabytes } from './page';

export interface Picked {
  readonly model: Model;
  /** Loads it again, in another way. */
  again(options: LoadOptions): Promise<Model>;
}

const form = element<HTMLFormElement>('load');
const files = element<HTMLInputElement>('files');
const url = element<HTMLInputElement>('url');
const threads = element<HTMLSelectElement>('threads');
const assembly = element<HTMLSelectElement>('assembly');
const drop = element('drop');
const status = element('status');
const cancel = element<HTMLButtonElement>('cancel');

/** Calls `use` with every model that is loaded. */
export function offerModels(use: (picked: Picked) => Promise<void>): void {
  const cores = navigator.hardwareConcurrency || 1;
  for (let count = 1; count <= Math.min(cores, 8); ++count) threads.append(new Option(String(count)));
  threads.value = String(Math.min(4, Math.ceil(cores / 2)));
  threads.disabled = !crossOriginIsolated;

  let aborting: AbortController | undefined;
  const load = async (source: ModelSource, name: string) => {
    aborting?.abort();
    const controller = (aborting = new AbortController());
    const options = { threads: Number(threads.value), assembly: assembly.value };
    const again = (more: LoadOptions) => loadModel(source, { ...options, ...more });
    cancel.hidden = false;
    try {
      const model = await again({ signal: controller.signal, onProgress: show });
      status.textContent = describe(name, model);
      await use({ model, again });
    } catch (error) {
      if (aborting === controller)
        status.textContent = controller.signal.aborted ? 'Loading was ended.' : String(error);
    } finally {
      if (aborting === controller) {
        element('loading').hidden = true;
        cancel.hidden = true;
      }
    }
  };
  const take = (list: FileList | null) => {
    if (list?.length) void load([...list], list.length === 1 ? list[0]!.name : `${list.length} files`);
  };

  cancel.onclick = () => aborting?.abort();
  files.onchange = () => take(files.files);
  form.onsubmit = (event) => {
    event.preventDefault();
    if (url.value) void load(url.value, url.value);
    else if (files.files?.length) take(files.files);
    else url.focus();
  };
  document.ondragover = (event) => {
    event.preventDefault();
    drop.classList.add('over');
  };
  document.ondragleave = () => drop.classList.remove('over');
  document.ondrop = (event) => {
    event.preventDefault();
    drop.classList.remove('over');
    take(event.dataTransfer?.files ?? null);
  };
}

function show({ phase, what, fraction, loadedBytes }: LoadProgress): void {
  element('loading').hidden = false;
  const bar = element<HTMLProgressElement>('progress');
  if (fraction === undefined) bar.removeAttribute('value');
  else bar.value = fraction;
  const size = loadedBytes === undefined ? '' : `, ${megabytes(loadedBytes)}`;
  element('phase').textContent = `${phase}: ${what}${size}`;
}

function describe(name: string, { info, runtime }: Model): string {
  const count = runtime.threads === 1 ? '1 thread' : `${runtime.threads} threads`;
  const why = runtime.threadsNote && navigator.hardwareConcurrency > 1 ? ` (${runtime.threadsNote})` : '';
  return (
    `${name}: ${info.layers} layers, ${megabytes(info.weightBytes)} of weights; ${runtime.variant}, ${count}${why}; ` +
    `loaded in ${(runtime.loadMs / 1000).toFixed(1)} s${runtime.fromCache ? ' from the cache' : ''}.`
  );
}
