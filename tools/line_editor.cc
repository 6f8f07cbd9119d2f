#include "tools/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "tools/verb.h"

namespace pteron::tools {

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  std::string prompt;
};

LineEditor::LineEditor() : impl_(std::make_unique<Impl>()) {
  if (::isatty(STDIN_FILENO) != 1) return;
  impl_->editor = el_init("pteron", stdin, stderr, stderr);
  impl_->history = history_init();
  HistEvent event;
  history(impl_->history, &event, H_SETSIZE, 1000);
  el_set(impl_->editor, EL_CLIENTDATA, impl_.get());
  el_set(impl_->editor, EL_PROMPT, +[](EditLine* editor) -> char* {
    void* client = nullptr;
    el_get(editor, EL_CLIENTDATA, &client);
    return static_cast<Impl*>(client)->prompt.data();
  });
  el_set(impl_->editor, EL_EDITOR, "emacs");
  el_set(impl_->editor, EL_HIST, history, impl_->history);
  el_set(impl_->editor, EL_SIGNAL, 1);
}

LineEditor::~LineEditor() {
  if (impl_->editor != nullptr) el_end(impl_->editor);
  if (impl_->history != nullptr) history_end(impl_->history);
}

bool LineEditor::interactive() const { return impl_->editor != nullptr; }

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  std::string line;
  if (impl_->editor == nullptr) {
    if (!std::getline(std::cin, line)) return std::nullopt;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
  }
  impl_->prompt = prompt;
  int count = 0;
  const char* text = el_gets(impl_->editor, &count);
  // Ctrl-C drops what was typed and asks again.
  while (text == nullptr && interrupted() && !terminated()) {
    forget_interrupt();
    std::fputc('\n', stderr);
    text = el_gets(impl_->editor, &count);
  }
  if (text == nullptr || count <= 0) return std::nullopt;
  line.assign(text, static_cast<size_t>(count));
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  HistEvent event;
  if (!line.empty()) history(impl_->history, &event, H_ENTER, line.c_str());
  return line;
}

}  // namespace pteron::tools
