// SPDX-License-Identifier: Apache-2.0
#include "compress_flags.hpp"

#include "tools/tulle/model_path.hpp"

namespace {

constexpr const char* footer =
    R"(Makes a sparse, quantized model out of a dense one: a decoder layer after the other, calibrated on a text. What a
recipe says is done, or without one what --sparsity, --structure and --bits say. DIR becomes a Hugging Face directory
that transformers, vLLM (8 bits) and Tulle read; the stages of a recipe go to DIR/stage_NAME. Beside the model stand
compression.json and compression.html: error, sparsity and time of every matrix, and the loss on held-out text.

--bytes-per-weight and --speedup, or both, choose the form of each matrix of the decoder layers (int8, int4, 8:16-gap4,
2:4, 4:16, unstructured): by its error on the text, and its size and speed, which are measured once and kept in
DIR/speeds.json.

Interrupted work (DIR.unfinished) goes on where it stopped when the same command is given again; stages of a recipe that
are done stay as they are. With --force all of them begin again.

Examples:
  tulle compress models/llama-1b --dataset wiki.txt -o sparse --sparsity 0.5 --bits 8
  tulle compress model.gguf --dataset rows.jsonl --text-column instruction+output -o small --structure 8:16 --bits 4
  tulle compress models/llama-1b --dataset open_platypus.jsonl -o out --recipe recipe.yaml
  tulle compress models/llama-1b --dataset wiki.txt -o planned --bytes-per-weight 0.45
  tulle compress models/llama-1b --dataset wiki.txt -o planned --speedup 1.8
  tulle compress models/llama-1b --dataset wiki.txt -o survey --survey --second-dataset code.txt)";

}  // namespace

void CompressFlags::add_to(CLI::App& app) {
  app.footer(footer);
  const auto add = [&](const char* names, auto& value, const char* type, const char* what) {
    return app.add_option(flag_names(names), value, what)->type_name(type);
  };
  const auto range = [](std::size_t min) { return CLI::Range(min, std::size_t{1} << 30).description(""); };
  app.add_option("MODEL,-m,--model", model,
                 "A Hugging Face directory or a GGUF file; without it the default model that tools/run fetches")
      ->envname("TULLE_MODEL")
      ->type_name("PATH");
  add_adapters(app, adapters);
  add("-o,--output", directory, "DIR", "The directory to write");
  add("-d,--dataset", calibration.dataset, "FILE", "Text to calibrate on: .txt, .jsonl, .json or .csv, also .gz");
  add("--recipe", recipe, "FILE", "YAML of SparseML 1.7 or llm-compressor");
  add("--recipe-args", variables, "NAME=VALUE", "Values of the recipe's variables")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  add("--sparsity", sparsity, "SHARE", "Share of weights that become zero")->check(in_range(0.0, 1.0));
  add("--structure", structure, "N:M", "Of every M columns N stay: 2:4, 4:8, 8:16, 8:16-gap4; or row");
  add("--bits", bits, "16|8|4", "Of a value: 8 with a scale per row, 4 in groups of 32, 16 as they are")
      ->check(CLI::IsMember({16, 8, 4}).description(""))
      ->capture_default_str();
  add("--bytes-per-weight", budget.bytes_per_weight, "BYTES",
      "At most so many in the decoder's matrices, as packed for this CPU: each gets the form of least loss");
  add("--speedup", budget.speedup, "FACTOR",
      "Decode so many times as fast as with int8, matrices alone: each gets the form of least loss");
  app.add_flag(flag_names("--survey"), survey,
               "Measure every form, and plans of 0.60, 0.52, 0.45 and 0.40 bytes a weight; write survey.html");
  add("--second-dataset", second, "FILE", "Of the survey: another text to measure on");
  add("--reference", references, "PATH", "Of the survey: a file of the model to measure beside, as a GGUF")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  add("--cells", cells, "NAME", "Of the survey: only these; also plan-as-FORM, as small and as fast as the form")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  add("--allocation", allocation, "auto|uniform|rising|owl",
      "Of sparsity over the layers: rising from the first to the last, or by their outliers (owl), as auto does from "
      "60 % on")
      ->capture_default_str();
  app.add_flag(flag_names("--refine"), refine,
               "Tune what is left of each block on the dense block's output: better, and about three times as long");
  add("--text-column", calibration.text_column, "NAME+...", "Columns of the dataset whose texts are joined");
  add("-n,--num-samples", calibration.samples, "N", "Sequences of the dataset")->capture_default_str()->check(range(1));
  add("--max-seq-length", calibration.max_length, "N", "Tokens of a sequence")->capture_default_str()->check(range(2));
  add("--held-out", calibration.held_out, "N", "Of the sequences, those that only measure; an eighth, at most 16")
      ->check(range(0));
  app.add_flag(flag_names("--apply-chat-template"), calibration.chat,
               "Make each row's text the user's message in the model's chat template");
  add("--self-generate", calibration.self_generated, "N", "Add N sequences that the dense model writes")
      ->capture_default_str()
      ->check(range(0));
  add("--format", form, "compressed-tensors|bitmask", "Form of the result: see 'tulle export --help'")
      ->check(CLI::IsMember({"compressed-tensors", "bitmask"}).description(""))
      ->capture_default_str();
  add("--threads", threads, "N", "0: one per core. The result does not depend on it")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024).description(""));
  app.add_flag("--force", force, "Also write where DIR is not empty");
  app.add_flag("--json", json, "Print the report as JSON; an array where a recipe has several stages");
  app.add_flag("-q,--quiet", quiet, "No progress bar");
}

void CompressFlags::check() const {
  if (directory.empty()) throw UsageError("--output is required");
  if (calibration.dataset.empty()) throw UsageError("--dataset is required");
  if (recipe.empty() && !variables.empty()) throw UsageError("--recipe-args needs --recipe");
  const bool by_flags = sparsity || !structure.empty() || bits != 16 || allocation != "auto";
  if (survey) {
    if (by_flags || has_budget() || !recipe.empty()) {
      throw UsageError("--survey measures all forms; leave --recipe and what chooses forms out");
    }
    if (!adapters.empty()) throw UsageError("--survey takes no --lora: compress the merged model");
    return;
  }
  if (!second.empty() || !references.empty() || !cells.empty()) {
    throw UsageError("--second-dataset, --reference and --cells are of --survey");
  }
  if (!recipe.empty() && (by_flags || has_budget())) {
    throw UsageError(
        "--recipe says what is done; --sparsity, --structure, --allocation and --bits are for a run without one");
  }
  if (has_budget() && by_flags) {
    throw UsageError("--bytes-per-weight and --speedup choose the forms; leave --sparsity, --structure and --bits out");
  }
  if (recipe.empty() && !by_flags && !has_budget()) {
    throw UsageError("give --recipe, --bytes-per-weight, --speedup, --sparsity, --structure, or --bits 8 or 4");
  }
}
