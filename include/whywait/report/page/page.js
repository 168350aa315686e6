// The page is complete without this script, which shows one wait at a time, puts source text beside it, and adds sliders,
// readings of maps and the contents.
(function () {
  'use strict';
  var doc = document, root = doc.documentElement;
  function all(selector, from) { return Array.prototype.slice.call((from || doc).querySelectorAll(selector)); }
  function one(selector, from) { return (from || doc).querySelector(selector); }
  function make(name, text, to) {
    var e = doc.createElement(name);
    if (text) e.textContent = text;
    if (to) to.appendChild(e);
    return e;
  }
  root.classList.add('js');

  // Contents.
  var toc = one('#toc'), entries = [];
  all('main h2').forEach(function (h) {
    var a = make('a', h.textContent, toc);
    a.href = '#' + h.parentNode.id;
    entries.push([a, h.parentNode]);
  });
  function mark_entry() {
    var current = null;
    entries.forEach(function (e) {
      if (e[1].getBoundingClientRect().top < window.innerHeight / 3) current = e[0];
      e[0].removeAttribute('aria-current');
    });
    if (current) current.setAttribute('aria-current', 'true');
  }
  window.addEventListener('scroll', mark_entry, {passive: true});
  mark_entry();

  // One wait at a time. Its excerpts are copied beside the code that names them.
  var waits = all('.wait');
  function add_sources(wait) {
    if (wait.dataset.sources) return;
    wait.dataset.sources = '1';
    var seen = {};
    all('.paths tbody tr', wait).forEach(function (row) {
      var figures = all('a.src', row).map(function (a) { return a.getAttribute('href'); }).filter(function (h) {
        return seen[h] ? false : (seen[h] = true);
      }).map(function (h) { return one(h); }).filter(Boolean);
      if (!figures.length) return;
      var beside = make('tr'), cell = make('td', '', beside), details = make('details', '', cell);
      beside.className = 'beside';
      cell.colSpan = 4;
      details.open = row === row.parentNode.firstElementChild;
      make('summary', 'Source', details);
      figures.forEach(function (f) {
        var copy = f.cloneNode(true);
        copy.removeAttribute('id');
        details.appendChild(copy);
      });
      row.parentNode.insertBefore(beside, row.nextSibling);
    });
  }
  function show(wait) {
    waits.forEach(function (w) { w.classList.toggle('on', w === wait); });
    all('.tile').forEach(function (t) {
      if (t.getAttribute('href') === '#' + wait.id) t.setAttribute('aria-current', 'true');
      else t.removeAttribute('aria-current');
    });
    add_sources(wait);
  }
  function follow(hash, focus) {
    var target = /^#[\w-]+$/.test(hash) ? one(hash) : null;
    if (!target) return false;
    var wait = target.closest('.wait');
    if (wait) show(wait);
    var details = target.closest('details');
    if (details) details.open = true;
    if (focus) {
      target.focus({preventScroll: true});
      var box = target.getBoundingClientRect();
      if (!wait || box.top < 0 || box.top > window.innerHeight * 0.6) target.scrollIntoView();
    }
    return !!wait;
  }
  doc.addEventListener('click', function (e) {
    var a = e.target.closest && e.target.closest('a[href^="#w"]');
    if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
    if (!follow(a.getAttribute('href'), true)) return;
    e.preventDefault();
    history.replaceState(null, '', a.getAttribute('href'));
  });
  window.addEventListener('hashchange', function () { follow(location.hash, true); });
  if (waits.length && !follow(location.hash, true)) show(waits[0]);

  // Arrow keys move between the tiles of the map.
  var tiles = all('.map a.tile');
  one('.map') && one('.map').addEventListener('keydown', function (e) {
    var at = tiles.indexOf(doc.activeElement);
    var step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
    if (at < 0 || !step) return;
    e.preventDefault();
    tiles[(at + step + tiles.length) % tiles.length].focus();
  });

  // Rows alike of a picture.
  all('.fold button').forEach(function (b) {
    b.addEventListener('click', function () {
      var open = b.closest('tbody').classList.toggle('open');
      b.setAttribute('aria-expanded', String(open));
    });
  });

  // Sliders in place of the table of speeds.
  all('.speeds').forEach(function (table) {
    var title = make('h3', table.caption.textContent), box = make('div');
    table.parentNode.insertBefore(box, table);
    box.appendChild(title);
    all('tr.speed', table).forEach(function (row, number) {
      var answers = all('td', row).map(function (td) {
        var d = one('data', td);
        return {factor: Number(td.dataset.factor), seconds: Number(d.value), words: d.textContent};
      });
      var line = make('div', '', box), label = make('label', '', line), input = make('input', '', line);
      var side = make('div', '', line), output = make('output', '', side), track = make('span', '', side), bar = make('i', '', track);
      line.className = 'slider';
      Array.prototype.slice.call(one('th', row).childNodes).forEach(function (n) { label.appendChild(n.cloneNode(true)); });
      input.type = 'range';
      input.min = 0;
      input.max = answers.length - 1;
      input.step = 1;
      input.value = Math.min(2, answers.length - 1);
      input.id = 'slide' + number;
      label.htmlFor = input.id;
      track.className = 'track';
      bar.className = 'bar';
      function update() {
        var a = answers[input.value], run = answers[0];
        var percent = Math.round(100 * a.factor) + ' %';
        output.textContent = a === run ? 'as it was: run ' + a.words
            : 'takes ' + percent + ' of its time: run ' + a.words + ', ' + Math.round(100 * (run.seconds - a.seconds) / run.seconds) + ' % shorter';
        input.setAttribute('aria-valuetext', output.textContent);
        bar.style.width = 100 * a.seconds / run.seconds + '%';
      }
      input.addEventListener('input', update);
      update();
    });
  });

  // Readings of maps: the value under the pointer, or under a cursor that the arrow keys move.
  var data = null;
  function json() { return data || (data = JSON.parse(one('#data').textContent)); }
  function time(s) {
    var units = [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']];
    for (var i = 0; i < 3; ++i) if (s >= units[i][0] * 0.9995) break;
    return s > 0 ? Number((s / units[i][0]).toPrecision(3)) + ' ' + units[i][1] : '0 s';
  }
  function ranks(map, row) {
    var first = row * map.ranks_per_row, last = Math.min(first + map.ranks_per_row, json().run.ranks) - 1;
    var noun = json().run.threads_only ? 'thread' : 'rank';
    return first === last ? noun + ' ' + first : noun + 's ' + first + '-' + last;
  }
  function reading(stacked, x, y) {
    if (stacked.closest('[data-map]').dataset.map === 'time') {
      var map = json().time_map, series = Number(visible(stacked).dataset.series);
      var rows = [map.waiting, map.calls, map.other].concat(map.blocks.map(function (b) { return b.seconds; }))[series];
      var size = Math.min(map.ranks_per_row, json().run.ranks - y * map.ranks_per_row);
      return ranks(map, y) + ', ' + time(x * map.bin_seconds) + ' to ' + time((x + 1) * map.bin_seconds) + ': ' + time(rows[y][x]) +
          ' (' + Math.round(100 * rows[y][x] / map.bin_seconds / size) + ' %)';
    }
    var matrix = json().rank_matrix, kind = Number(stacked.dataset.kind), found = [0, 0, 0, 0];
    (kind ? matrix.messages : matrix.waits).forEach(function (e) { if (e[0] === y && e[1] === x) found = e; });
    return kind ? ranks(matrix, y) + ' to ' + ranks(matrix, x) + ': ' + found[2].toLocaleString('en') + ' messages, ' + found[3].toLocaleString('en') + ' bytes'
                : ranks(matrix, y) + ' waited for ' + ranks(matrix, x) + ': ' + time(found[3]) + ' in ' + found[2].toLocaleString('en') + ' waits';
  }
  function visible(stacked) {
    return all('.pane', stacked).filter(function (p) { return p.offsetParent; })[0] || stacked;
  }
  all('.stacked').forEach(function (stacked) {
    var cursor = make('div', '', stacked), x = 0, y = 0, output = one('.readout', stacked.closest('.maps'));
    cursor.className = 'cursor';
    cursor.hidden = true;
    function size() { return one('svg', visible(stacked)).viewBox.baseVal; }
    function read() {
      var s = size();
      x = Math.max(0, Math.min(s.width - 1, x));
      y = Math.max(0, Math.min(s.height - 1, y));
      cursor.hidden = false;
      cursor.style.cssText = 'left:' + 100 * x / s.width + '%;top:' + 100 * y / s.height + '%;width:' + 100 / s.width + '%;height:' + 100 / s.height + '%';
      output.textContent = reading(stacked, x, y);
    }
    stacked.addEventListener('pointermove', function (e) {
      var box = stacked.getBoundingClientRect(), s = size();
      x = Math.floor((e.clientX - box.left) / box.width * s.width);
      y = Math.floor((e.clientY - box.top) / box.height * s.height);
      read();
    });
    stacked.addEventListener('keydown', function (e) {
      var move = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]}[e.key];
      if (!move) return;
      e.preventDefault();
      x += move[0];
      y += move[1];
      read();
    });
    stacked.addEventListener('focus', read);
  });

  // On paper: the ten most costly waits, and all folded text.
  window.addEventListener('beforeprint', function () {
    waits.slice(0, 10).forEach(function (w) { add_sources(w); w.classList.add('printed'); });
    all('details').forEach(function (d) { d.dataset.was = d.open ? '1' : ''; d.open = true; });
  });
  window.addEventListener('afterprint', function () {
    all('details').forEach(function (d) { d.open = !!d.dataset.was; });
  });
})();
