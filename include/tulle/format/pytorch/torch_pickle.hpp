// SPDX-License-Identifier: Apache-2.0
/// \file The pickle of a state dict that torch.save wrote: which tensors it has. Nothing in it is run (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/pytorch/pickle_globals.hpp>
#include <tulle/format/pytorch/pickle_stack.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/dtype.hpp>

namespace tulle::detail {

/// A view into a storage, as the pickle says it; nothing is checked against the storage's bytes.
struct PickledTensor {
  std::string name;
  DType dtype;
  std::string_view storage;                   ///< the last part of its member's name; a view into the pickle
  DType storage_dtype;                        ///< bytes (U8) where the storage has no type of its own
  std::uint64_t storage_elements;             ///< that the storage is said to have
  std::uint64_t offset;                       ///< of the first element, in elements
  std::vector<std::uint64_t> sizes, strides;  ///< in elements, equally many
};

/// Reads the opcodes that torch.save writes for a state dict (protocol 2), and no others.
class TorchPickle : private PickleStack {
 public:
  /// Lifetime: that of the bytes. `where` names the file in messages.
  TorchPickle(std::span<const std::byte> pickle, std::string_view where) : PickleStack(pickle, where) {}

  /// The tensors of the dict that the pickle holds; entries of other types are left out.
  /// Errors: unsupported for an opcode and a global that are not known, malformed.
  std::vector<PickledTensor> run();

 private:
  struct Storage {
    PickleGlobal::Kind kind;
    DType dtype;
    std::string_view key;
    std::uint64_t elements;
  };
  struct Tensor {
    DType dtype;
    std::size_t storage;  // in `storages_`
    std::uint64_t offset;
    Value sizes, strides;
  };
  struct Entry {
    std::uint64_t dict;
    std::string_view name;
    std::size_t tensor;  // in `tensors_`
  };

  bool step();  // false at the end
  void read_text();
  void read_global();
  void read_long();
  void load_storage();
  void call();
  void make_tensor(std::span<const Value> arguments, bool of_bytes);
  void add_entries(const Value& dict, std::span<const Value> names_and_values);

  std::vector<Storage> storages_;
  std::vector<Tensor> tensors_;
  std::vector<Entry> entries_;
  std::uint64_t dicts_ = 0;
};

inline void TorchPickle::read_text() {
  const auto size = reader_.read<std::uint32_t>("a text's length");
  push(Kind::text, reader_.position(), size);
  reader_.take(size, "a text");
}

inline void TorchPickle::read_global() {
  const auto line = [&] {
    const auto rest = pickle_.subspan(reader_.position());
    const auto size = std::find(rest.begin(), rest.end(), std::byte{'\n'}) - rest.begin();
    const std::string_view text = reader_.text(static_cast<std::uint64_t>(size), "a name");
    reader_.take(1, "a name's end");
    return text;
  };
  const std::string_view module = line(), name = line();
  if (const PickleGlobal* global = find_pickle_global(module, name)) {
    return push(Kind::global, static_cast<std::uint64_t>(global - pickle_globals.data()));
  }
  fail(ErrorCode::unsupported, reader_.where(), ": the pickle names ",
       quoted_name(std::string(module) + "." + std::string(name)),
       ", which no state dict of plain tensors needs; nothing of it was run");
}

/// Two's complement of any length, the lowest byte first.
inline void TorchPickle::read_long() {
  const auto size = reader_.read<std::uint8_t>("a number's length");
  if (size > 8) refuse("has a number of more than 64 bits");
  std::uint64_t value = 0;
  const auto bytes = reader_.take(size, "a number");
  for (std::size_t i = 0; i < size; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  const bool is_negative = size != 0 && (bytes[size - 1] & std::byte{0x80}) != std::byte{0};
  if (is_negative && size < 8) value |= ~std::uint64_t{0} << (8 * size);
  push(Kind::integer, value);
}

/// ("storage", class, key, device, elements)
inline void TorchPickle::load_storage() {
  const std::span<const Value> id = items(pop());
  if (id.size() != 5 || text(id[0]) != "storage" || id[1].kind != Kind::global) refuse("has a storage without a type");
  const PickleGlobal& type = pickle_globals[static_cast<std::size_t>(id[1].at)];
  if (type.kind != PickleGlobal::Kind::storage && type.kind != PickleGlobal::Kind::bytes_storage) {
    refuse("has a storage without a type");
  }
  storages_.push_back({type.kind, type.dtype, text(id[2]), number(id[4])});
  push(Kind::storage, storages_.size() - 1);
}

/// (storage, offset, sizes, strides, whether it is trained, hooks), then the type where the storage has none.
inline void TorchPickle::make_tensor(std::span<const Value> arguments, bool of_bytes) {
  const std::size_t needed = of_bytes ? 7 : 6;
  if (arguments.size() < needed || arguments[0].kind != Kind::storage) refuse("makes a tensor of something else");
  const Storage& storage = storages_[static_cast<std::size_t>(arguments[0].at)];
  DType dtype = storage.dtype;
  if (of_bytes != (storage.kind == PickleGlobal::Kind::bytes_storage)) refuse("has a tensor of the wrong storage");
  if (of_bytes) {
    const Value& type = arguments[6];
    if (type.kind != Kind::global) refuse("has a tensor without a type");
    const PickleGlobal& global = pickle_globals[static_cast<std::size_t>(type.at)];
    if (global.kind != PickleGlobal::Kind::dtype) refuse("has a tensor without a type");
    dtype = global.dtype;
  }
  tensors_.push_back(
      {dtype, static_cast<std::size_t>(arguments[0].at), number(arguments[1]), arguments[2], arguments[3]});
  push(Kind::tensor, tensors_.size() - 1);
}

inline void TorchPickle::call() {
  const Value arguments = pop(), function = pop();
  if (function.kind != Kind::global) refuse("calls what is no function");
  const std::span<const Value> list = items(arguments);
  const PickleGlobal::Kind kind = pickle_globals[static_cast<std::size_t>(function.at)].kind;
  if (kind == PickleGlobal::Kind::tensor || kind == PickleGlobal::Kind::tensor_of_bytes) {
    make_tensor(list, kind == PickleGlobal::Kind::tensor_of_bytes);
  } else if (kind == PickleGlobal::Kind::parameter && !list.empty() && list[0].kind == Kind::tensor) {
    stack_.push_back(list[0]);
  } else if (kind == PickleGlobal::Kind::dict && list.empty()) {
    push(Kind::dict, dicts_++);
  } else {
    refuse("calls a function with the wrong arguments");
  }
}

inline void TorchPickle::add_entries(const Value& dict, std::span<const Value> names_and_values) {
  if (dict.kind != Kind::dict || names_and_values.size() % 2 != 0) refuse("sets an entry of what is no dict");
  for (std::size_t i = 0; i < names_and_values.size(); i += 2) {
    const Value &name = names_and_values[i], &value = names_and_values[i + 1];
    if (value.kind == Kind::tensor) entries_.push_back({dict.at, text(name), static_cast<std::size_t>(value.at)});
  }
}

inline bool TorchPickle::step() {
  const auto opcode = reader_.read<std::uint8_t>("an opcode");
  switch (opcode) {
    case 0x80:  // PROTO
      if (reader_.read<std::uint8_t>("a protocol") != 2) refuse("is not of protocol 2, as torch.save writes it,");
      break;
    case '(': push(Kind::mark); break;                                              // MARK
    case 'N': push(Kind::other); break;                                             // NONE
    case 0x88: push(Kind::other); break;                                            // NEWTRUE
    case 0x89: push(Kind::other); break;                                            // NEWFALSE
    case 'G': reader_.take(8, "a number"), push(Kind::other); break;                // BINFLOAT
    case 'K': push(Kind::integer, reader_.read<std::uint8_t>("a number")); break;   // BININT1
    case 'M': push(Kind::integer, reader_.read<std::uint16_t>("a number")); break;  // BININT2
    case 'J':                                                                       // BININT
      push(Kind::integer, static_cast<std::uint64_t>(std::int64_t{reader_.read<std::int32_t>("a number")}));
      break;
    case 0x8A: read_long(); break;                // LONG1
    case 'X': read_text(); break;                 // BINUNICODE
    case '}': push(Kind::dict, dicts_++); break;  // EMPTY_DICT
    case ')': make_tuple({}); break;              // EMPTY_TUPLE
    case 0x85: make_tuple(last(1)); break;        // TUPLE1
    case 0x86: make_tuple(last(2)); break;        // TUPLE2
    case 0x87: make_tuple(last(3)); break;        // TUPLE3
    case 't': {                                   // TUPLE
      make_tuple(marked());
      const Value tuple = pop();
      stack_.back() = tuple;  // in the place of the mark
      break;
    }
    case 's':  // SETITEM
      add_entries(last(3)[0], last(2));
      stack_.resize(stack_.size() - 2);
      break;
    case 'u': {  // SETITEMS
      const auto values = marked();
      const std::size_t dict_end = stack_.size() - values.size() - 1;
      if (dict_end == 0) refuse("sets an entry of what is no dict");
      add_entries(stack_[dict_end - 1], values);
      stack_.resize(dict_end);
      break;
    }
    case 'b':  // BUILD: what a dict has beside its entries, "_metadata"
      pop();
      if (last(1)[0].kind != Kind::dict) refuse("sets the state of what is no dict");
      break;
    case 'q': remember(reader_.read<std::uint8_t>("an index")); break;   // BINPUT
    case 'r': remember(reader_.read<std::uint32_t>("an index")); break;  // LONG_BINPUT
    case 'h': recall(reader_.read<std::uint8_t>("an index")); break;     // BINGET
    case 'j': recall(reader_.read<std::uint32_t>("an index")); break;    // LONG_BINGET
    case 'c': read_global(); break;                                      // GLOBAL
    case 'Q': load_storage(); break;                                     // BINPERSID
    case 'R': call(); break;                                             // REDUCE
    case '.': return false;                                              // STOP
    default:
      fail(ErrorCode::unsupported, reader_.where(), ": the pickle has the opcode ", int{opcode}, " at byte ",
           reader_.position() - 1, ", which torch.save does not write for a state dict; nothing of it was run");
  }
  return true;
}

inline std::vector<PickledTensor> TorchPickle::run() {
  while (step()) {
  }
  const Value result = pop();
  if (result.kind != Kind::dict || !stack_.empty()) refuse("holds no dict");
  std::vector<PickledTensor> found;
  std::set<const char*> names;  // texts are disjoint bytes of the pickle, so each name is copied once
  for (const Entry& entry : entries_) {
    if (entry.dict != result.at) continue;
    if (!names.insert(entry.name.data()).second) refuse("names a tensor twice");
    const Tensor& tensor = tensors_[entry.tensor];
    const Storage& storage = storages_[tensor.storage];
    found.push_back({std::string(entry.name), tensor.dtype, storage.key, storage.dtype, storage.elements, tensor.offset,
                     numbers(tensor.sizes), numbers(tensor.strides)});
    if (found.back().sizes.size() != found.back().strides.size()) refuse("has a tensor whose strides do not fit");
  }
  return found;
}

}  // namespace tulle::detail
