// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/quantization_scheme.hpp>

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/format/yaml/parse_yaml.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

using Reader = detail::SchemeReader;

struct Result {
  std::string plan;  ///< "8 bits, group 0, symmetric"
  std::vector<std::string> notes;
};

Result read(const std::string& text, Reader::Style style = Reader::Style::compressed_tensors) {
  Result result;
  Reader reader(style, "r.yaml", result.notes);
  const YamlNode node = parse_yaml(text, "r.yaml");
  const auto plan = node.is_scalar() ? reader.preset(node, "M") : reader.scheme(node, "S");
  if (!plan) return {"none", result.notes};
  CHECK(plan->method == QuantizationMethod::nearest);
  CHECK_FALSE(plan->jointly);
  result.plan = std::to_string(plan->bits) + " bits, group " + std::to_string(plan->group) +
                (plan->symmetric ? ", symmetric" : ", with a minimum") + (plan->searches_scale ? ", searched" : "");
  return result;
}

std::string error(const std::string& text) {
  return error_of([&] { read(text); });
}

}  // namespace

TEST_CASE("presets are compressed-tensors'", "[compress][quantization_scheme]") {
  CHECK(read("W8A8").plan == "8 bits, group 0, symmetric");
  CHECK(read("W8A8").notes.empty());
  CHECK(read("int8").plan == "8 bits, group 0, symmetric");
  CHECK(read("W4A16").plan == "4 bits, group 128, symmetric");
  CHECK(read("W4A16_ASYM").plan == "4 bits, group 128, with a minimum");
  CHECK(read("W8A16").notes.size() == 1);
  CHECK(read("UNQUANTIZED").plan == "none");
  CHECK(error("FP8").starts_with("unsupported: r.yaml, line 1: scheme FP8 of M has floating-point codes"));
  CHECK(error("W8A9") == "invalid_argument: r.yaml, line 1: unknown scheme \"W8A9\" of M; did you mean W8A8?");
}

TEST_CASE("schemes say bits, groups and symmetry", "[compress][quantization_scheme]") {
  const std::string activations =
      ", input_activations: {num_bits: 8, symmetric: true, dynamic: true, strategy: token}}";
  CHECK(read("{weights: {num_bits: 8, strategy: channel}" + activations).plan == "8 bits, group 0, symmetric");
  CHECK(read("{weights: {num_bits: 8, strategy: channel}" + activations).notes.empty());
  CHECK(read("{weights: {num_bits: 4, group_size: 32}}").plan == "4 bits, group 32, symmetric");
  CHECK(read("{weights: {num_bits: 4, group_size: 64, strategy: group, symmetric: false}}").plan ==
        "4 bits, group 64, with a minimum");
  CHECK(read("{weights: {num_bits: 4, group_size: -1}}").plan == "4 bits, group 0, symmetric");
  CHECK(read("{weights: {num_bits: 8, observer: mse}}").plan == "8 bits, group 0, symmetric, searched");
  CHECK(read("{weights: null}").plan == "none");
  CHECK(read("{}").plan == "none");
  CHECK(read("{weights: {num_bits: 8}}", Reader::Style::sparseml).plan == "8 bits, group 0, symmetric");
  CHECK(read("{weights: {num_bits: 4, group_size: 32}}", Reader::Style::sparseml).plan ==
        "4 bits, group 32, with a minimum");
  CHECK(read("{}", Reader::Style::sparseml).plan == "8 bits, group 0, symmetric");
  CHECK(read("{weights: null}", Reader::Style::sparseml).plan == "none");
}

TEST_CASE("what cannot be kept becomes a note", "[compress][quantization_scheme]") {
  const auto has = [](const Result& result, const std::string& part) {
    for (const std::string& note : result.notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  };
  CHECK(has(read("{weights: {num_bits: 8, symmetric: false}}"), "without a zero point"));
  CHECK(has(read("{weights: {num_bits: 8, strategy: tensor}}"), "one scale per row in place of one per matrix"));
  CHECK(has(read("{weights: {num_bits: 8, actorder: group}}"), "actorder"));
  CHECK(has(read("{input_activations: {num_bits: 8, symmetric: false}}"), "asymmetric and static"));
  CHECK(has(read("{input_activations: {symmetric: true}}"), "are static in the recipe"));
  CHECK(has(read("{output_activations: {num_bits: 8}}"), "output activations"));
  CHECK(has(read("{weights: {}}", Reader::Style::sparseml), "asymmetric and static"));
  CHECK_FALSE(has(read("{weights: {}, input_activations: null}", Reader::Style::sparseml), "asymmetric"));
}

TEST_CASE("schemes that are wrong or not available are errors", "[compress][quantization_scheme]") {
  CHECK(error("{weights: {num_bits: 3}}") ==
        "unsupported: r.yaml, line 1: num_bits of weights of S is 3; available are 8 and 4");
  CHECK(error("{weights: {num_bits: x}}").starts_with("invalid_argument: "));
  CHECK(error("{weights: {type: float}}").starts_with("unsupported: "));
  CHECK(error("{weights: {type: flaot}}").starts_with("invalid_argument: "));
  CHECK(error("{weights: {strategy: block}}").starts_with("unsupported: "));
  CHECK(error("{weights: {strategy: chanel}}").ends_with("did you mean channel?"));
  CHECK(error("{weights: {group_size: 48}}").starts_with("unsupported: "));
  CHECK(error("{weights: {group_size: 32, strategy: channel}}").starts_with("invalid_argument: "));
  CHECK(error("{weights: {strategy: group}}").starts_with("unsupported: "));
  CHECK(error("{weights: {dynamic: true}}").starts_with("invalid_argument: "));
  CHECK(error("{weights: {observer: msse}}").ends_with("did you mean mse?"));
  CHECK(error("{weights: {num_bit: 8}}").ends_with("did you mean num_bits?"));
  CHECK(error("{weights: 8}").starts_with("invalid_argument: "));
  CHECK(error("{weight: {}}").ends_with("did you mean weights?"));
  CHECK(error("{input_activations: {num_bits: 4}}").starts_with("unsupported: "));
}
