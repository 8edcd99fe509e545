// A box that scrolls sideways can be scrolled with the keyboard only if it can take the focus.
(() => {
  const BOXES = 'mjx-container[display="true"], div.math, .pst-scrollable-table-container, .cell_output .output, pre';
  const update = () => {
    for (const box of document.querySelectorAll('article :is(' + BOXES + ')')) {
      const scrolls = box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== 'visible';
      if (scrolls && !box.hasAttribute('tabindex')) box.tabIndex = 0;
    }
  };
  window.addEventListener('load', async () => {
    await window.MathJax?.startup?.promise;
    update();
    new ResizeObserver(update).observe(document.querySelector('article') ?? document.body);
  });
})();
