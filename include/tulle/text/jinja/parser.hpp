// SPDX-License-Identifier: Apache-2.0
/// \file Tokens to statements: the blocks of a template (L2, text).
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/ast.hpp>
#include <tulle/text/jinja/declarations.hpp>
#include <tulle/text/jinja/expression_parser.hpp>
#include <tulle/text/jinja/lexer.hpp>
#include <tulle/text/jinja/token_cursor.hpp>

namespace tulle::jinja {

/// Parses a whole template. Errors: malformed, with the line and the block.
class Parser {
 public:
  explicit Parser(std::string_view source) : cursor_(Lexer(source).run()) {}

  Body parse() { return parse_body({}, ""); }

 private:
  using Words = std::initializer_list<std::string_view>;

  /// Statements up to a tag that is one of `ends`, whose name is next. `block` is what that tag closes.
  Body parse_body(Words ends, std::string_view block) {
    TokenCursor::Nesting nesting(cursor_);
    nesting.add();
    const std::size_t opened = cursor_.last_line();
    Body body;
    for (;;) {
      const std::size_t line = cursor_.line();
      if (cursor_.sees(TokenKind::end)) {
        if (!block.empty()) cursor_.refuse("'", block, "' of line ", opened, " is not closed");
        return body;
      }
      const SyntaxToken token = cursor_.take();
      if (token.kind == TokenKind::data) {
        body.push_back({line, Text{token.text}});
      } else if (token.kind == TokenKind::print_begin) {
        ExpressionPtr value = expressions_.parse_tuple();
        cursor_.expect(TokenKind::print_end, "'}}'");
        body.push_back({line, Print{std::move(value)}});
      } else {
        if (!cursor_.sees(TokenKind::name)) cursor_.unexpected("the name of a tag");
        for (const std::string_view end : ends) {
          if (cursor_.sees_name(end)) return body;
        }
        if (parse_statement(body, line)) continue;
        const std::string& tag = cursor_.peek().text;
        if (block.empty()) cursor_.refuse("unknown tag '", tag, "'");
        cursor_.refuse("unknown tag '", tag, "'; the open block is '", block, "' of line ", opened);
      }
    }
  }

  /// The body of a block and its end tag.
  Body parse_block(std::string_view block, std::string_view end) {
    Body body = parse_body({end}, block);
    cursor_.take();
    end_tag();
    return body;
  }

  void end_tag() { cursor_.expect(TokenKind::block_end, "'%}'"); }

  /// The statement whose tag is next; false where no statement has that name.
  bool parse_statement(Body& body, std::size_t line) {
    using ParseTag = void (Parser::*)(Body&, std::size_t);
    struct Tag {
      std::string_view name;
      ParseTag parse;
    };
    static constexpr std::array<Tag, 8> tags = {{{"if", &Parser::parse_if},
                                                 {"for", &Parser::parse_for},
                                                 {"set", &Parser::parse_set},
                                                 {"macro", &Parser::parse_macro},
                                                 {"filter", &Parser::parse_filter},
                                                 {"generation", &Parser::parse_generation},
                                                 {"break", &Parser::parse_break},
                                                 {"continue", &Parser::parse_continue}}};
    for (const Tag& tag : tags) {
      if (!cursor_.sees_name(tag.name)) continue;
      cursor_.take();
      (this->*tag.parse)(body, line);
      return true;
    }
    return false;
  }

  void parse_if(Body& body, std::size_t line) {
    If statement;
    for (bool open = true; open;) {
      ExpressionPtr test = expressions_.parse_tuple(false);
      end_tag();
      statement.branches.push_back({std::move(test), parse_body({"elif", "else", "endif"}, "if")});
      open = cursor_.take_name("elif");
    }
    if (cursor_.take_name("else")) {
      end_tag();
      statement.branches.push_back({nullptr, parse_body({"endif"}, "if")});
    }
    cursor_.take();
    end_tag();
    body.push_back({line, std::move(statement)});
  }

  void parse_for(Body& body, std::size_t line) {
    For loop;
    loop.target = parse_target(cursor_, false);
    if (!cursor_.take_name("in")) cursor_.unexpected("'in'");
    loop.items = expressions_.parse_tuple(false);
    if (cursor_.take_name("if")) loop.filter = expressions_.parse();
    end_tag();
    ++open_loops_;
    loop.body = parse_body({"else", "endfor"}, "for");
    --open_loops_;
    if (cursor_.take_name("else")) {
      end_tag();
      loop.otherwise = parse_body({"endfor"}, "for");
    }
    cursor_.take();
    end_tag();
    body.push_back({line, std::move(loop)});
  }

  void parse_set(Body& body, std::size_t line) {
    Target target = parse_target(cursor_, true);
    if (cursor_.take_sign("=")) {
      ExpressionPtr value = expressions_.parse_tuple();
      end_tag();
      body.push_back({line, Assignment{std::move(target), std::move(value)}});
      return;
    }
    ExpressionPtr filter = cursor_.take_sign("|") ? expressions_.parse_block_filters() : nullptr;
    end_tag();
    body.push_back({line, BlockAssignment{std::move(target), std::move(filter), parse_block("set", "endset")}});
  }

  void parse_macro(Body& body, std::size_t line) {
    const auto macro = std::make_shared<MacroDefinition>();
    macro->name = cursor_.expect(TokenKind::name, "the name of the macro").text;
    macro->parameters = parse_parameters(cursor_, expressions_);
    end_tag();
    const std::size_t loops = std::exchange(open_loops_, 0);
    ++expressions_.open_macros;
    macro->body = parse_block("macro", "endmacro");
    --expressions_.open_macros;
    open_loops_ = loops;
    body.push_back({line, Macro{macro}});
  }

  void parse_filter(Body& body, std::size_t line) {
    ExpressionPtr filter = expressions_.parse_block_filters();
    end_tag();
    body.push_back({line, FilterBlock{std::move(filter), parse_block("filter", "endfilter")}});
  }

  void parse_generation(Body& body, std::size_t line) {
    end_tag();
    body.push_back({line, Generation{parse_block("generation", "endgeneration")}});
  }

  void parse_break(Body& body, std::size_t line) { parse_jump(body, {line, Break{}}, "break"); }
  void parse_continue(Body& body, std::size_t line) { parse_jump(body, {line, Continue{}}, "continue"); }

  void parse_jump(Body& body, Statement statement, std::string_view name) {
    if (open_loops_ == 0) cursor_.refuse("'", name, "' outside of a loop");
    end_tag();
    body.push_back(std::move(statement));
  }

  TokenCursor cursor_;
  ExpressionParser expressions_{cursor_};
  std::size_t open_loops_ = 0;
};

}  // namespace tulle::jinja
