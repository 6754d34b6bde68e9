// SPDX-License-Identifier: Apache-2.0
/// \file tulle chat: a conversation in the model's own chat template.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tulle/generate/text_generation.hpp>
#include <vector>

#include "command_line.hpp"
#include "draft_flags.hpp"
#include "generation_flags.hpp"
#include "interrupt.hpp"
#include "model_flags.hpp"
#include "pipeline.hpp"
#include "progress_bar.hpp"
#include "streams.hpp"

namespace {

constexpr const char* commands = R"(/reset  forget the conversation
/help   this list
/exit   leave, as Ctrl-D does; Ctrl-C stops an answer, twice at the prompt it leaves
)";

constexpr const char* chat_footer =
    R"(Every line of standard input is a turn; an empty line is none. Where standard input or output is no terminal,
the answers alone are printed, each ended by a line end, and Ctrl-C ends the program. The lines /reset, /help and /exit
are commands.
Answers are drawn when one of --temperature (above 0), --top-k, --top-p, --min-p, --typical-p and --seed is
given.

Examples:
  tulle chat -m model.gguf --system "You are a helpful assistant." --temperature 0.7
  printf 'Name a colour.\nAnother one.\n' | tulle chat -m model.gguf)";

struct ChatFlags {
  ModelFlags model;
  GenerationFlags generation{512};
  DraftFlags draft;
  std::string system;
  CLI::Option* system_flag = nullptr;
};

class Chat {
 public:
  Chat(const ChatFlags& flags, tulle::TextGeneration& pipeline)
      : pipeline_(pipeline),
        session_(pipeline.session()),
        options_(flags.generation.options()),
        interactive_(is_terminal(standard_input) && is_terminal(standard_output)),
        interrupt_(interactive_ ? Interrupt::Again::is_ignored : Interrupt::Again::ends_program) {
    if (flags.system_flag->count() > 0) system_.push_back({"system", flags.system});
    messages_ = system_;
    options_.sampling.eos = pipeline.chat_ends();
    options_.cancel = &interrupt_.flag();
    options_.begins_text = true;
    options_.verification = flags.draft.verification();
    options_.callback = [this](const tulle::TextPiece& piece) {
      bar_.reset();
      output_.write(piece.text);
      output_.flush();
      return true;
    };
    (void)pipeline.apply_chat_template(
        std::vector<tulle::ChatMessage>{{"user", "?"}});  // checks that there is a working template
  }

  int run() {
    if (interactive_) output_.write(commands);
    bool asked_to_leave = false;
    for (;;) {
      if (interactive_) {
        interrupt_.clear();
        output_.write("> ");
      } else if (interrupt_.raised()) {
        break;
      }
      std::optional<std::string> line = reader_.next(output_, &interrupt_.flag());
      if (interactive_ && !line && interrupt_.raised()) {
        if (asked_to_leave) return interrupted_status;
        asked_to_leave = true;
        output_.write("\n(Ctrl-C again, Ctrl-D or /exit leaves)\n");
        continue;
      }
      asked_to_leave = false;
      if (line && line->ends_with('\r')) line->pop_back();
      if (!line || *line == "/exit") break;
      if (!line->empty()) take(*line);
    }
    if (interactive_) output_.write("\n");
    output_.flush();
    return !interactive_ && interrupt_.raised() ? interrupted_status : 0;
  }

 private:
  void take(const std::string& line) {
    if (line == "/reset") {
      messages_ = system_;
      session_.clear();
    } else if (line == "/help") {
      output_.write(commands);
    } else {
      answer(line);
    }
  }

  /// A failed turn is removed; at a terminal the conversation then continues.
  void answer(const std::string& line) {
    const std::size_t before = messages_.size();
    try {
      require_utf8(line, "line " + std::to_string(reader_.lines()) + " of standard input");
      messages_.push_back({"user", line});
      messages_.push_back({"assistant", continue_conversation()});
    } catch (const tulle::Error& error) {
      messages_.resize(before);
      if (!interactive_) throw;
      std::fprintf(stderr, "tulle: %s\n", error.what());
    }
  }

  std::string continue_conversation() {
    const std::string text = pipeline_.apply_chat_template(messages_);
    const auto tokens = pipeline_.tokenizer().encode(text);
    options_.progress = bar_.emplace().progress();
    const tulle::GeneratedText answer = session_.continue_from(tokens, options_);
    output_.write("\n");
    output_.flush();
    if (answer.finish_reason == tulle::FinishReason::capacity) {
      std::fputs("tulle: the context is full; /reset begins anew, --sequence-length makes it larger\n", stderr);
    }
    return without_end(answer);
  }

  /// What the conversation keeps of an answer: the template writes the token that ends it.
  std::string without_end(const tulle::GeneratedText& answer) const {
    std::string text = answer.text;
    if (options_.skip_special_tokens || answer.tokens.empty()) return text;
    const tulle::Token last = answer.tokens.back();
    const std::string end = pipeline_.tokenizer().decode(std::span(&last, 1));
    const std::vector<tulle::Token>& eos = options_.sampling.eos;
    const bool is_eos = std::find(eos.begin(), eos.end(), last) != eos.end();
    if (is_eos && text.ends_with(end)) text.resize(text.size() - end.size());
    return text;
  }

  tulle::TextGeneration& pipeline_;
  tulle::Session session_;
  tulle::GenerationOptions options_;
  std::optional<ProgressBar> bar_;  // while the prompt is read
  bool interactive_;
  Interrupt interrupt_;
  std::vector<tulle::ChatMessage> system_, messages_;
  LineReader reader_;
  Output output_;
};

int chat(const ChatFlags& flags) {
  (void)flags.generation.options();  // a wrong flag is reported before a model is loaded
  require_utf8(flags.system, "--system");
  ModelFlags model = flags.model;
  model.engine.max_sequences = 1;
  const auto pipeline = load_pipeline(model, flags.draft.options());
  return Chat(flags, *pipeline).run();
}

}  // namespace

Command chat_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("chat", "Talk with a model in its own chat template");
  app->footer(chat_footer);
  const auto flags = std::make_shared<ChatFlags>();
  flags->system_flag = app->add_option("-s,--system", flags->system, "Text of the system role before the conversation")
                           ->type_name("TEXT");
  flags->model.add_to(*app);
  flags->generation.add_to(*app);
  flags->draft.add_to(*app);
  flags->draft.add_text_flags_to(*app);
  return {app, [flags] { return chat(*flags); }};
}
