// SPDX-License-Identifier: Apache-2.0
/// \file A checkpoint with some of its weights replaced (L5).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Where nothing was replaced, what `base` has. Threads: const members may run concurrently.
class EditedTensors final : public TensorSource {
 public:
  /// `base`, not null, must outlive the object.
  explicit EditedTensors(const TensorSource* base) : base_(*base) {}
  EditedTensors(const EditedTensors&) = delete;
  EditedTensors& operator=(const EditedTensors&) = delete;

  /// The matrix of the layer `name` is `matrix` from now on, for those who ask for it as a matrix.
  void replace(const std::string& name, std::shared_ptr<const WeightSource> matrix) {
    matrices_[name] = std::move(matrix);
  }
  /// The tensor `name`, of which there is one in the base, has these values from now on (a norm, a bias).
  void replace_values(const std::string& name, std::vector<float> values) {
    const EncodedTensor* old = base_.find(name);
    Values& own = values_[name];
    own.values = std::move(values);
    own.tensor.name = name;
    own.tensor.shape = old == nullptr ? std::vector<std::size_t>{own.values.size()} : old->shape;
    own.tensor.bytes = std::as_bytes(std::span(own.values));
  }

  const EncodedTensor* find(std::string_view name) const override {
    const auto found = values_.find(name);
    return found == values_.end() ? base_.find(name) : &found->second.tensor;
  }
  std::vector<std::string> names() const override { return base_.names(); }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    const auto found = matrices_.find(name);
    return found == matrices_.end() ? base_.matrix(name) : found->second;
  }
  std::span<const std::byte> read(const EncodedTensor& tensor) const override {
    return values_.contains(tensor.name) ? tensor.bytes : base_.read(tensor);
  }
  void release(std::span<const std::byte> bytes) const noexcept override {
    for (const auto& [name, own] : values_) {
      if (own.tensor.bytes.data() == bytes.data()) return;
    }
    base_.release(bytes);
  }

 private:
  struct Values {
    std::vector<float> values;
    EncodedTensor tensor;  // over `values`
  };

  const TensorSource& base_;
  std::map<std::string, std::shared_ptr<const WeightSource>> matrices_;
  std::map<std::string, Values, std::less<>> values_;
};

}  // namespace tulle
