// SPDX-License-Identifier: Apache-2.0
/// \file What a compression has done so far, so that it can go on after an interruption (L5).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/format/safetensors.hpp>
#include <tulle/format/safetensors_writer.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

inline OutputTensor output_tensor(std::string name, DType dtype, std::vector<std::size_t> shape,
                                  std::span<const std::byte> bytes) {
  return {std::move(name), dtype, std::move(shape), [bytes](const TensorSink& sink) { sink(bytes); }};
}

}  // namespace detail

/// A directory with a pair of files for each decoder layer that is done: matrices, and a report. A third file holds the
/// settings, which must be the same when the work is taken up again.
class WorkDirectory {
 public:
  /// Creates the directory, or takes up what is there. Errors: io; invalid_argument where other settings made it.
  WorkDirectory(std::string path, const Json& settings) : path_(std::move(path)) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) fail(ErrorCode::io, "cannot create ", path_, ": ", error.message());
    const std::string name = file("settings.json");
    if (!std::filesystem::exists(name)) {
      write_file(name, settings.dump(2) + "\n");
    } else if (read(name) != settings) {
      fail(ErrorCode::invalid_argument, path_, " holds the unfinished work of other settings (",
           difference(read(name), settings), "); finish that, or remove the directory");
    }
  }

  bool has(std::size_t layer) const { return std::filesystem::exists(file(layer_name(layer) + ".json")); }

  /// Stores a layer. The report comes last: only what is whole counts. Errors: io.
  void save(std::size_t layer, const NamedMatrices& matrices, const Json& report) const {
    std::vector<OutputTensor> tensors;
    Json formats = Json::object();
    for (const auto& [name, matrix] : matrices) {
      const std::vector<std::size_t> shape{matrix->rows(), matrix->columns()};
      if (const auto* floats = dynamic_cast<const MatrixOfFloats*>(matrix.get())) {
        tensors.push_back(
            detail::output_tensor(name + ".values", floats->code_format().floats, shape, floats->bytes()));
        continue;
      }
      const auto& coded = dynamic_cast<const MatrixOfCodes&>(*matrix);
      const CodeFormat format = coded.code_format();
      const std::vector<std::size_t> groups{matrix->rows(), format.groups(matrix->columns())};
      const MatrixOfCodes::Values& values = coded.values();
      formats[name] = {{"bits", format.bits}, {"group", format.group}};
      tensors.push_back(detail::output_tensor(name + ".codes", DType::i8, shape, std::as_bytes(values.codes)));
      tensors.push_back(detail::output_tensor(name + ".scales", DType::f32, groups, std::as_bytes(values.scales)));
      if (!format.has_minimums) continue;
      tensors.push_back(detail::output_tensor(name + ".minimums", DType::f32, groups, std::as_bytes(values.minimums)));
    }
    write_safetensors(file(layer_name(layer) + ".safetensors"), std::move(tensors));
    write_file(file(layer_name(layer) + ".json"), Json{{"report", report}, {"formats", formats}}.dump() + "\n");
  }

  /// A layer that is there, over its file. Errors: io, malformed.
  NamedMatrices load(std::size_t layer) const {
    const auto opened = std::make_shared<const InputFile>(file(layer_name(layer) + ".safetensors"));
    const Json formats = read(file(layer_name(layer) + ".json")).at("formats");
    const std::vector<EncodedTensor> tensors = parse_safetensors(opened->view(), path_);
    const auto find = [&](const std::string& name) -> std::span<const std::byte> {
      for (const EncodedTensor& tensor : tensors) {
        if (tensor.name == name) return tensor.bytes;
      }
      return {};
    };
    NamedMatrices matrices;
    for (const EncodedTensor& tensor : tensors) {
      const std::size_t dot = tensor.name.rfind('.');
      const std::string name = tensor.name.substr(0, dot), part = tensor.name.substr(dot + 1);
      if (part == "values") {
        matrices.emplace_back(name, std::make_shared<const MatrixOfFloats>(tensor.shape.at(0), tensor.shape.at(1),
                                                                           tensor.dtype, tensor.bytes, opened));
      }
      if (part != "codes") continue;
      const Json& format = formats.at(name);
      const MatrixOfCodes::Values values{view_as<std::int8_t>(tensor.bytes), view_as<float>(find(name + ".scales")),
                                         view_as<float>(find(name + ".minimums"))};
      const CodeFormat codes{.bits = format.at("bits").get<std::size_t>(),
                             .group = format.at("group").get<std::size_t>()};
      if (values.scales.size() != tensor.shape.at(0) * codes.groups(tensor.shape.at(1))) {
        fail(ErrorCode::malformed, path_, ": ", name, " has a wrong number of scales; remove the directory");
      }
      matrices.emplace_back(
          name, std::make_shared<const MatrixOfCodes>(tensor.shape.at(0), tensor.shape.at(1), codes, values, opened));
    }
    return matrices;
  }

  Json report(std::size_t layer) const { return read(file(layer_name(layer) + ".json")).at("report"); }

  /// Errors: io.
  void remove() const {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) fail(ErrorCode::io, "cannot remove ", path_, ": ", error.message());
  }

 private:
  template <class T>
  static std::span<const T> view_as(std::span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  static std::string layer_name(std::size_t layer) { return "layer_" + std::to_string(layer); }
  std::string file(const std::string& name) const { return (std::filesystem::path(path_) / name).string(); }

  static Json read(const std::string& path) { return parse_json(InputFile(path).text(), path); }
  static std::string difference(const Json& found, const Json& wanted) {
    for (const auto& item : wanted.items()) {
      if (!found.contains(item.key()) || found[item.key()] != item.value()) return item.key();
    }
    return "settings";
  }

  std::string path_;
};

}  // namespace tulle
