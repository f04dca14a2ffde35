// What mdBook does not do for a book of two languages inside a repository.
(() => {
  const chinese = location.pathname.includes('.zh-CN.');
  document.documentElement.lang = chinese ? 'zh-CN' : 'en';

  // Chapters link to files of the repository that are not part of the book. If book.toml names the
  // repository (`git-repository-url`), such links lead there; otherwise they become plain text.
  const repository = document.querySelector('a[title="Git repository"]')?.href;
  for (const link of document.querySelectorAll('main a[href^="../"]')) {
    const path = link.getAttribute('href').replace(/^(\.\.\/)+/, '').replace(/\.html(#|$)/, '.md$1');
    if (repository) {
      link.href = `${repository.replace(/\/$/, '')}/blob/HEAD/${path}`;
    } else {
      link.removeAttribute('href');
      link.title = path;
    }
  }

  // A browser shows the end of a source line as a space, which is wrong between Chinese characters,
  // and beside Chinese punctuation.
  if (chinese) {
    const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    const marks = '\\u3000-\\u303f\\uff00-\\uffef';
    const wide = `${marks}\\u4e00-\\u9fff`;
    const lineEnd = new RegExp(
      `(?<=[${wide}])\\n(?=[${wide}])|(?<=[${marks}])\\n|\\n(?=[${marks}])`, 'g');
    while (texts.nextNode()) {
      if (!texts.currentNode.parentElement.closest('pre')) {
        texts.currentNode.data = texts.currentNode.data.replace(lineEnd, '');
      }
    }
  }
})();
