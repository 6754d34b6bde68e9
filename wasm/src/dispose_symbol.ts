// SPDX-License-Identifier: Apache-2.0
// Engines older than explicit resource management lack the symbol; classes that use it must find it.
const symbols = Symbol as { asyncDispose?: symbol };
symbols.asyncDispose ??= Symbol.for('Symbol.asyncDispose');
