(most) => {
  const found = [];
  const wanted = 'a[href], button, input:not([type=hidden]), select, textarea, [role=button], [role=link], [onclick]';
  document.querySelectorAll('[data-colleague]').forEach((each) => each.removeAttribute('data-colleague'));
  for (const each of document.querySelectorAll(wanted)) {
    const box = each.getBoundingClientRect();
    if (!box.width || !box.height || found.length >= most) continue;
    const label = each.innerText || each.value || each.getAttribute('aria-label') || each.placeholder || each.name || '';
    each.setAttribute('data-colleague', String(found.length + 1));
    found.push({ kind: each.tagName.toLowerCase(), label: label.trim().replace(/\s+/g, ' ').slice(0, 100) });
  }
  return { elements: found, text: (document.body ? document.body.innerText : '').slice(0, 200000) };
}
