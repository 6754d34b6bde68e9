// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/onnx/onnx_checkpoint.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <tulle/format/checkpoint.hpp>
#include <tulle/tensor/sparsity.hpp>

#include "unit/format/lent_files.hpp"
#include "unit/format/onnx/onnx_builder.hpp"

using namespace tulle;
using namespace tulle::test;

namespace {

const std::string folder = TULLE_GOLDEN "/onnx/";

std::vector<std::vector<float>> rows_of(const TensorSource& source, const std::string& layer) {
  const auto matrix = source.matrix(layer);
  REQUIRE(matrix != nullptr);
  std::vector<std::vector<float>> rows(matrix->rows(), std::vector<float>(matrix->columns()));
  for (std::size_t row = 0; row < rows.size(); ++row) matrix->decode_row(row, rows[row].data());
  return rows;
}

/// Every tensor of `needed` to the bit, whatever its type.
void check_same(const Checkpoint& found, const Checkpoint& needed) {
  for (const std::string& name : needed.names()) {
    CAPTURE(found.path(), name);
    REQUIRE(found.find(name) != nullptr);
    CHECK(found.find(name)->shape == needed.find(name)->shape);
    if (needed.find(name)->shape.size() == 2) {
      const std::string layer = name.substr(0, name.rfind('.'));
      CHECK(rows_of(found, layer) == rows_of(needed, layer));
    } else {
      CHECK(read_floats(found, *found.find(name)) == read_floats(needed, *needed.find(name)));
    }
  }
}

Bytes file_of(const std::string& path) {
  return to_bytes(InputFile(path).text());
}

/// A weight of 2 x 3 as `data` says.
Bytes tensor_of(const Bytes& data, std::uint64_t type = 1) {
  return onnx_tensor("L.weight", type, {2, 3}, data);
}

/// The graph in a directory of its own.
struct Directory {
  explicit Directory(const std::vector<Bytes>& graph) { write(onnx_file(graph)); }
  void write(const Bytes& file) const {
    files.write("config.json", "{}");
    files.write("model.onnx", file);
  }
  std::shared_ptr<const Checkpoint> open() const { return Checkpoint::open(files.path()); }
  std::string message() const {
    return message_of([&] { open(); });
  }

  TemporaryFolder files;
};

bool refuses_file(const Bytes& file, std::string_view what) {
  const Directory directory({});
  directory.write(file);
  const std::string message = directory.message();
  CAPTURE(message);
  CHECK(message.find("model.onnx") != std::string::npos);
  return message.find(what) != std::string::npos;
}
bool refuses(const std::vector<Bytes>& graph, std::string_view what) {
  return refuses_file(onnx_file(graph), what);
}

/// MatMulInteger of activations that are quantized before, and what multiplies its product.
std::vector<Bytes> integer_product(const Bytes& scale_node) {
  const auto scalar = [](std::string_view name, std::uint64_t type, const Bytes& raw) {
    return onnx_tensor(name, type, {}, field(9, raw));
  };
  return {onnx_tensor("onnx::MatMul_1", 2, {2, 3}, field(9, Bytes(6, std::byte{130}))),
          scalar("step", 1, to_bytes(std::vector<float>{0.5f})),
          scalar("product", 1, to_bytes(std::vector<float>{0.25f})),
          scalar("zero", 2, Bytes(1, std::byte{128})),
          onnx_node("", "QuantizeLinear", {"x", "step", "zero"}, "codes"),
          onnx_node("/L/MatMul_quant", "MatMulInteger", {"codes", "onnx::MatMul_1", "zero", "zero"}, "sums"),
          onnx_node("", "Cast", {"sums"}, "floats"),
          scale_node};
}

}  // namespace

TEST_CASE("model.onnx holds what safetensors hold", "[format][onnx][golden]") {
  const auto golden = Checkpoint::open(TULLE_GOLDEN "/models/starcoder2-tiny");
  const GivenFiles lent = lent_files(folder + "scoped");
  for (const auto& checkpoint :
       {Checkpoint::open(folder + "scoped"), Checkpoint::open(folder + "scoped/model.onnx"), Checkpoint::open(lent)}) {
    CHECK(checkpoint->format_name() == "onnx");
    CHECK(checkpoint->config() == golden->config());
    CHECK(checkpoint->find("model.layers.0.self_attn.q_proj.weight")->transposed);
    CHECK_FALSE(checkpoint->find("model.layers.0.mlp.c_fc.weight")->transposed);
    check_same(*checkpoint, *golden);
  }
}

TEST_CASE("quantized matrices of model.onnx have numpy's values and keep their codes", "[format][onnx][golden]") {
  const auto floats = Checkpoint::open(folder + "floats");
  const GivenFiles lent = lent_files(folder + "quantized");
  for (const auto& checkpoint : {Checkpoint::open(folder + "quantized"), Checkpoint::open(lent)}) {
    CHECK(checkpoint->config() == floats->config());  // the head has codes of its own
    check_same(*checkpoint, *floats);
    for (const std::string& name : checkpoint->names()) {
      if (!name.ends_with("_proj.weight") && !name.ends_with("fc.weight") && !name.starts_with("lm_head.weight"))
        continue;
      if (name.ends_with("_scale") || name == "model.layers.1.mlp.c_proj.weight") continue;  // one is asymmetric
      CAPTURE(name);
      const auto matrix = checkpoint->matrix(name.substr(0, name.rfind('.')));
      CHECK(matrix->code_format() == CodeFormat{.bits = 8});
    }
    CHECK(measure_sparsity(*checkpoint->matrix("model.layers.0.mlp.c_fc")).structure == "2:4");  // the byte 128
  }
}

TEST_CASE("tied parameters and scopes that lack a module get the names of both", "[format][onnx]") {
  const Bytes raw = field(9, to_bytes(std::vector<float>{1, 2, 3, 4, 5, 6}));
  const Directory shared({onnx_tensor("lm_head.weight", 1, {2, 3}, raw), onnx_tensor("onnx::MatMul_1", 1, {3, 2}, raw),
                          onnx_tensor("model.decoder.fc.bias", 1, {2}, field(4, to_bytes(std::vector<float>{1, 2}))),
                          onnx_node("/decoder/wte/Gather", "Gather", {"lm_head.weight", "ids"}, "x"),
                          onnx_node("/decoder/fc/MatMul", "MatMul", {"x", "onnx::MatMul_1"}, "y"),
                          onnx_node("/decoder/fc/Add", "Add", {"model.decoder.fc.bias", "y"}, "z")});
  const auto checkpoint = shared.open();
  CHECK(checkpoint->names() == std::vector<std::string>{"lm_head.weight", "model.decoder.fc.bias",
                                                        "model.decoder.fc.weight", "model.decoder.wte.weight"});
  CHECK(rows_of(*checkpoint, "model.decoder.fc") == std::vector<std::vector<float>>{{1, 3, 5}, {2, 4, 6}});
  CHECK(rows_of(*checkpoint, "lm_head") == std::vector<std::vector<float>>{{1, 2, 3}, {4, 5, 6}});
}

TEST_CASE("elements in typed fields are those of their type", "[format][onnx]") {
  Bytes packed;
  for (const std::uint64_t bits : {0x3C00, 0x4000, 0xBC00, 0, 0, 0x4200}) put_varint(packed, bits);
  const Directory halves({tensor_of(field(5, packed), 10)});
  CHECK(rows_of(*halves.open(), "L") == std::vector<std::vector<float>>{{1, 2, -1}, {0, 0, 3}});
  Bytes single;  // not packed, as old writers may
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}) {
    put_varint(single, 4 << 3 | 5);
    put(single, value);
  }
  CHECK(rows_of(*Directory({tensor_of(single)}).open(), "L") == std::vector<std::vector<float>>{{1, 2, 3}, {4, 5, 6}});
  CHECK(refuses({tensor_of(field(5, packed), 1)}, "needs 24 bytes for its shape and has 0"));
  CHECK(refuses({tensor_of(field(5, Bytes(5, std::byte{1})), 10)}, "needs 12 bytes for its shape and has 10"));
}

TEST_CASE("sizes and places in model.onnx are checked before anything is read", "[format][onnx]") {
  const std::uint64_t large = std::uint64_t{1} << 40;
  const Bytes raw = field(9, Bytes(24));
  CHECK(Directory({tensor_of(raw)}).message() == "no error");
  CHECK(refuses({tensor_of(field(9, Bytes(23)))}, "needs 24 bytes for its shape and has 23"));
  CHECK(refuses({onnx_tensor("L.weight", 1, {large, large}, raw)}, "too large"));
  CHECK(refuses({onnx_tensor("L.weight", 1, {large, 1 << 20}, raw)}, "bytes for its shape and has 24"));
  CHECK(refuses({onnx_tensor("L.weight", 1, {~std::uint64_t{0}, 3}, raw)}, "an extent that is too large"));
  CHECK(refuses({onnx_tensor("L.weight", 1, std::vector<std::uint64_t>(9, 1), raw)}, "8 dimensions"));
  CHECK(refuses({tensor_of(raw), tensor_of(raw)}, "appears twice"));
  CHECK(refuses({field(15, Bytes())}, "sparse initializers"));
  CHECK(refuses_file({}, "holds no graph"));

  const auto with_data = [&](std::string_view location, std::string_view offset, std::string_view length) {
    const Directory directory({tensor_of(external_data(location, offset, length))});
    directory.files.write("model.data", Bytes(40));
    return directory.message();
  };
  CHECK(with_data("model.data", "16", "24") == "no error");
  CHECK(with_data("model.data", "16", "") == "no error");
  CHECK(with_data("model.data", "17", "24").find("behind the end") != std::string::npos);
  CHECK(with_data("model.data", "41", "0").find("behind the end") != std::string::npos);
  CHECK(with_data("model.data", "18446744073709551615", "24").find("behind the end") != std::string::npos);
  CHECK(with_data("model.data", "8", "18446744073709551610").find("behind the end") != std::string::npos);
  CHECK(with_data("model.data", "0", "25").find("needs 24 bytes") != std::string::npos);
  CHECK(with_data("model.data", "-1", "24").find("no number") != std::string::npos);
  CHECK(with_data("model.data", "0", "99999999999999999999").find("no number") != std::string::npos);
  CHECK(with_data("other.data", "0", "24").find("not there") != std::string::npos);
  for (const char* location : {"/etc/passwd", "../model.data", "data/model.data", "..", ""}) {
    CHECK(with_data(location, "0", "24").find("no plain name") != std::string::npos);
  }
}

TEST_CASE("links lead external data nowhere but to where model.onnx lies", "[format][onnx]") {
  const TemporaryFolder elsewhere;
  elsewhere.write("secret", Bytes(24));
  const Directory directory({tensor_of(external_data("model.data", "0", ""))});
  std::filesystem::create_symlink(elsewhere.path("secret"), directory.files.path("model.data"));
  CHECK(directory.message().find("a link to another directory") != std::string::npos);

  const TemporaryFolder snapshot;  // of a cache that keeps its files in one folder
  snapshot.write("config.json", "{}");
  elsewhere.write("graph", onnx_file({tensor_of(external_data("model.data", "0", ""))}));
  std::filesystem::create_symlink(elsewhere.path("secret"), snapshot.path("model.data"));
  std::filesystem::create_symlink(elsewhere.path("graph"), snapshot.path("model.onnx"));
  CHECK(Checkpoint::open(snapshot.path())->find("L.weight") != nullptr);
}

TEST_CASE("matrices in unknown forms are refused by name", "[format][onnx]") {
  const Bytes floats = onnx_tensor("onnx::MatMul_1", 1, {2, 3}, field(9, Bytes(24)));
  const auto product = [&](std::string_view node) { return onnx_node(node, "MatMul", {"x", "onnx::MatMul_1"}, "y"); };
  CHECK(Directory({floats, product("/L/MatMul")}).message() == "no error");
  CHECK(refuses({floats, product("MatMul_7")}, "\"onnx::MatMul_1\" of the \"MatMul\" node \"MatMul_7\""));
  CHECK(refuses({floats, product("/L/MatMul"), onnx_tensor("onnx::MatMul_2", 1, {2, 3}, field(9, Bytes(24))),
                 onnx_node("/L/MatMul", "MatMul", {"x", "onnx::MatMul_2"}, "z")},
                "has the name of another one"));
  CHECK(refuses({floats, onnx_node("/L/Q4", "MatMulNBits", {"x", "onnx::MatMul_1"}, "y", field(7, "com.microsoft"))},
                "operators of other domains"));
  const Bytes factor = field(5, joined({field(1, "alpha"), joined({Bytes{std::byte{0x15}}, Bytes(4)})}));
  CHECK(refuses({floats, onnx_node("/L/Gemm", "Gemm", {"x", "onnx::MatMul_1"}, "y", factor)}, "has a factor"));

  CHECK(rows_of(*Directory(integer_product(onnx_node("", "Mul", {"floats", "product"}, "y"))).open(), "L") ==
        std::vector<std::vector<float>>(3, {1, 1}));
  CHECK(refuses(integer_product(onnx_node("", "Add", {"floats", "product"}, "y")), "has no scales"));
  CHECK(
      refuses({onnx_tensor("L.weight", 3, {2, 3}, field(9, Bytes(6))), onnx_node("", "MatMul", {"x", "L.weight"}, "y")},
              "scales are not found"));
  const auto dequantized = [](std::uint64_t axis, std::uint64_t zero_type) {
    return std::vector<Bytes>{onnx_tensor("L.weight_quantized", 3, {3, 3}, field(9, Bytes(9))),
                              onnx_tensor("scale", 1, {3}, field(9, to_bytes(std::vector<float>{1, 2, 3}))),
                              onnx_tensor("zero", zero_type, {3}, field(9, Bytes(3))),
                              onnx_node("", "DequantizeLinear", {"L.weight_quantized", "scale", "zero"}, "w",
                                        field(5, joined({field(1, "axis"), field(3, axis)}))),
                              onnx_node("", "MatMul", {"x", "w"}, "y")};
  };
  CHECK(Directory(dequantized(1, 3)).message() == "no error");
  CHECK(refuses(dequantized(0, 3), "a scale for each column"));
  CHECK(refuses(dequantized(1, 2), "of another type than the codes"));
}

TEST_CASE("a model.onnx that is cut is refused", "[format][onnx]") {
  const Bytes whole = file_of(folder + "quantized/model.onnx");
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 16) {
    CHECK(refuses_file({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, "model.onnx"));
  }
}
