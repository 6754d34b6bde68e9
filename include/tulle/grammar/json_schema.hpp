// SPDX-License-Identifier: Apache-2.0
/// \file JSON Schema, reduced to what a grammar can follow exactly (L3).
/// Source: https://json-schema.org/draft/2020-12
#pragma once

#include <string>
#include <string_view>

namespace tulle {

/// A schema that accepts no more than `schema` does, in few keywords: `type` (one), `enum`, `const`, `anyOf`, `$ref` into
/// `$defs`, `properties`, `required`, `additionalProperties`, one of `patternProperties`, `minProperties`,
/// `maxProperties`, `items`, `prefixItems`, `minItems`, `maxItems`, `pattern` (also for lengths), `format`,
/// `minimum`, `maximum`, their exclusive forms, and `multipleOf` of integers. `oneOf` becomes `anyOf` where its
/// alternatives exclude each other, by type or by a constant property; `allOf` of one schema is that schema.
/// An object that names properties holds no others, unless `additionalProperties` is there.
/// Annotations and names that JSON Schema does not know are dropped.
/// Errors: invalid_argument, with the place, for what a grammar cannot follow (`not`, `if`, `uniqueItems`...), for a
/// schema that accepts no value, or none that is finite, and for one that is too large.
std::string understood_schema(std::string_view schema);

}  // namespace tulle

#include <tulle/grammar/json_schema_inline.hpp>
