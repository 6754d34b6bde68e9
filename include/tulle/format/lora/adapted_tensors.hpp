// SPDX-License-Identifier: Apache-2.0
/// \file The tensors of a model with LoRA adapters merged into them (L3).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/encoding/encodings.hpp>
#include <tulle/format/hub_names.hpp>
#include <tulle/format/lora/lora_adapter.hpp>
#include <tulle/format/lora/lora_rows.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// `matrix` gives merged weights, `find` and `read` the tensors that an adapter brings whole; everything else is the
/// model's. Threads: const members may run concurrently.
class AdaptedTensors final : public TensorSource {
 public:
  /// `base`, the tensors of the model with that config, must outlive the object.
  AdaptedTensors(const TensorSource* base, const Json& config) : base_(*base), config_(config) {}
  AdaptedTensors(const AdaptedTensors&) = delete;
  AdaptedTensors& operator=(const AdaptedTensors&) = delete;

  /// `scale`: multiplies the adapter's own. Tensors that it brings whole are taken as they are.
  /// Errors: not_found and malformed for an adapter of another model, invalid_argument where two bring the same tensor.
  void add(std::shared_ptr<const LoraAdapter> adapter, float scale) {
    for (const auto& [name, tensor] : adapter->replaced()) replace(*adapter, name, *tensor);
    for (const auto& [module, change] : adapter->changes()) {
      check_shape(*adapter, module, {change.rows(), change.columns()});
      changes_[module].push_back({adapter.get(), &change, scale});
    }
    adapters_.push_back(std::move(adapter));
  }

  /// Modules whose matrix an adapter changes or brings.
  std::set<std::string> modules() const {
    std::set<std::string> all;
    for (const auto& [module, changes] : changes_) all.insert(module);
    for (const auto& [name, replaced] : replaced_) all.insert(name.substr(0, name.rfind('.')));
    return all;
  }

  const EncodedTensor* find(std::string_view name) const override {
    const auto found = replaced_.find(name);
    return found == replaced_.end() ? base_.find(name) : &found->second.tensor;
  }
  std::vector<std::string> names() const override { return base_.names(); }

  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    auto rows = replaced_.contains(name + ".weight") ? open_matrix(*this, name) : base_.matrix(name);
    const auto found = changes_.find(name);
    if (rows == nullptr || found == changes_.end()) return rows;
    LoraRows::Products products;
    for (const Change& change : found->second)
      products.push_back(change.adapter->product(*change.factors, change.scale));
    return std::make_shared<const LoraRows>(std::move(rows), std::move(products));
  }

  std::span<const std::byte> read(const EncodedTensor& tensor) const override {
    const auto found = replaced_.find(tensor.name);
    return found == replaced_.end() ? base_.read(tensor) : found->second.adapter->tensors().read(*found->second.own);
  }
  void release(std::span<const std::byte> bytes) const noexcept override {
    for (const auto& adapter : adapters_) adapter->tensors().release(bytes);
    base_.release(bytes);
  }

 private:
  using Shape = std::vector<std::size_t>;

  struct Change {
    const LoraAdapter* adapter;
    const LoraAdapter::Change* factors;
    float scale;
  };
  struct Replaced {
    EncodedTensor tensor;  // with the model's name and shape
    const LoraAdapter* adapter;
    const EncodedTensor* own;
  };

  void replace(const LoraAdapter& adapter, const std::string& name, const EncodedTensor& own) {
    EncodedTensor tensor = own;
    tensor.name = name;
    constexpr std::string_view end = ".weight";
    if (tensor.shape.size() == 2 && name.ends_with(end)) {
      if (is_transposed_in_hub(config_, name)) {
        std::swap(tensor.shape[0], tensor.shape[1]);
        tensor.transposed = !tensor.transposed;
      }
      check_shape(adapter, name.substr(0, name.size() - end.size()), tensor.shape);
    } else {
      const EncodedTensor* old = base_.find(name);
      if (old == nullptr) fail_missing(adapter, name);
      if (old->shape.size() != 1 || tensor.shape != Shape{old->taken_elements()}) {
        fail_shape(adapter, name, tensor.shape, old->shape);
      }
    }
    const auto [place, is_new] = replaced_.try_emplace(name, Replaced{std::move(tensor), &adapter, &own});
    if (!is_new && !same_values(place->second, adapter, own)) {
      fail(ErrorCode::invalid_argument, adapter.path(), " brings tensor ", detail::quoted_name(name),
           " whole, as another adapter does, with other values; merge one of them with PEFT");
    }
  }

  static bool same_values(const Replaced& first, const LoraAdapter& adapter, const EncodedTensor& own) {
    return first.own->shape == own.shape &&
           read_floats(first.adapter->tensors(), *first.own) == read_floats(adapter.tensors(), own);
  }

  /// Errors: not_found, malformed; those of `matrix`.
  void check_shape(const LoraAdapter& adapter, const std::string& module, const Shape& shape) const {
    const EncodedTensor* plain = base_.find(module + ".weight");
    Shape expected;
    if (plain != nullptr && plain->shape.size() == 2 && plain->order.as_it_lies()) {
      expected = plain->shape;
    } else {
      const auto rows = base_.matrix(module);
      if (rows == nullptr) fail_missing(adapter, module);
      expected = {rows->rows(), rows->columns()};
    }
    if (shape != expected) fail_shape(adapter, module, shape, expected);
  }

  [[noreturn]] static void fail_missing(const LoraAdapter& adapter, const std::string& name) {
    if (name.starts_with("lm_head") || name.starts_with("embed_out")) {
      fail(ErrorCode::unsupported, adapter.path(), " changes ", detail::quoted_name(name),
           ", and the model has no head of its own; merge the adapter with PEFT and save the model with a head");
    }
    fail(ErrorCode::not_found, adapter.path(), " changes ", detail::quoted_name(name),
         ", which the model does not have; was the adapter trained on this model?");
  }
  [[noreturn]] static void fail_shape(const LoraAdapter& adapter, const std::string& name, const Shape& shape,
                                      const Shape& expected) {
    const auto text = [](const Shape& sizes) {
      std::string joined;
      for (const std::size_t size : sizes) joined += (joined.empty() ? "[" : ", ") + std::to_string(size);
      return joined.empty() ? std::string("[]") : joined + "]";
    };
    fail(ErrorCode::malformed, adapter.path(), ": ", detail::quoted_name(name), " has shape ", text(shape),
         " where the model has ", text(expected), "; was the adapter trained on this model?");
  }

  const TensorSource& base_;
  const Json& config_;
  std::vector<std::shared_ptr<const LoraAdapter>> adapters_;
  std::map<std::string, std::vector<Change>> changes_;  // by module
  std::map<std::string, Replaced, std::less<>> replaced_;
};

}  // namespace tulle
