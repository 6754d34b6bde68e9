// SPDX-License-Identifier: Apache-2.0
/// \file What an export says about what differs from the model (L3).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tulle {

/// Notes in the order in which they came; those that say the same of several tensors become one.
class ExportNotes {
 public:
  void add(const std::string& message) { notes_.push_back({message, "", 0}); }

  void about(const std::string& tensor, const std::string& message) {
    for (Note& note : notes_) {
      if (note.message != message || note.tensor.empty()) continue;
      ++note.others;
      return;
    }
    notes_.push_back({message, tensor, 0});
  }

  /// "TENSOR and 3 more: MESSAGE", one line each.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const Note& note : notes_) {
      const std::string others = note.others == 0 ? "" : " and " + std::to_string(note.others) + " more";
      all.push_back(note.tensor.empty() ? note.message : note.tensor + others + ": " + note.message);
    }
    return all;
  }

 private:
  struct Note {
    std::string message, tensor;  // tensor: the first of them; "": none
    std::size_t others;
  };

  std::vector<Note> notes_;
};

}  // namespace tulle
