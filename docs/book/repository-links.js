// Chapters link to files of the repository that are not part of the book. If book.toml names the
// repository (`git-repository-url`), such links lead there; otherwise they become plain text.
(() => {
  const chinese = location.pathname.includes('.zh-CN.');
  document.documentElement.lang = chinese ? 'zh-CN' : 'en';

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
})();
