// SPDX-License-Identifier: Apache-2.0
// Lesson 10: text in, text out, in Node.     usage: 10_generate.mjs MODEL PROMPT
import { loadModel } from 'tulle';

const model = await loadModel(process.argv[2]);
for await (const { text } of model.generate(process.argv[3], { maxNewTokens: 64 })) process.stdout.write(text);
await model.dispose();
