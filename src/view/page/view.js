// The page of `voltpile view`: shows a result by tiles of the level that fits the zoom.

import { drawBar, loadMaps, makeScale, missingColor } from './colors.js';
import { painted, SIDE, Tiles } from './tiles.js';

const $ = (id) => document.getElementById(id);
const canvas = $('picture'), context = canvas.getContext('2d');
const tiles = new Tiles(() => later(), (message) => fail(message));
let result, field, at = [], scale = null, waiting = false;
let zoom = 1, centerX = 0, centerY = 0;  // pixels per point; the point in the middle of the canvas

const width = () => result.axes[0].count;
const height = () => result.axes[1]?.count ?? 1;
const stretch = () => (result.axes[1] ? 1 : Math.max(1, 80 / zoom));  // a single axis makes a strip
const topLevel = () => Math.max(0, Math.ceil(Math.log2(Math.max(width(), height()) / SIDE)));
const shown = (value) => (field.plotFrom === undefined ? value : field.plotFrom - value);
const digits = (value, count) => (Number.isFinite(value) ? String(Number(value.toPrecision(count))) : 'no value');

function fail(message) {
  $('state').textContent = message;
  $('state').className = 'wrong';
}

function later() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

const columnsOf = (level, x) => Math.min(SIDE, Math.ceil(width() / 2 ** level) - x * SIDE);
const tileAt = (level, x, y) => tiles.get({ field: field.name, at, level, x, y }, columnsOf(level, x));
const currentLevel = () => Math.min(topLevel(), Math.max(0, Math.floor(Math.log2(1 / zoom) + 1e-9)));

// Calls use(x, y) for the tiles of a level that are in sight.
function inSight(level, use) {
  const side = SIDE * 2 ** level, w = canvas.width / zoom / 2, h = canvas.height / zoom / stretch() / 2;
  const range = (center, half, count) => [Math.max(0, Math.floor((center - half) / side)),
    Math.min(Math.ceil(count / side) - 1, Math.floor((center + half) / side))];
  const [left, right] = range(centerX, w, width()), [top, bottom] = range(centerY, h, height());
  for (let y = top; y <= bottom; ++y) for (let x = left; x <= right; ++x) use(x, y);
}

function drawTile(level, x, y) {
  const tile = tileAt(level, x, y);
  if (!tile) return;
  const block = 2 ** level, image = painted(tile, scale, field.plotFrom), tall = zoom * stretch();
  const left = (x * SIDE * block - centerX) * zoom + canvas.width / 2;
  const top = (y * SIDE * block - centerY) * tall + canvas.height / 2;
  context.imageSmoothingEnabled = zoom * block < 1;
  context.drawImage(image, left, top, image.width * block * zoom, image.height * block * tall);
}

function setScale(values) {
  scale = makeScale($('map').value, $('scaling').value, values);
  drawBar($('colors'), scale);
  const word = (value) => field.words[value] ?? digits(value, 4);
  $('least').textContent = scale.ranked.length ? word(scale.least) : '';
  $('greatest').textContent = scale.ranked.length ? word(scale.greatest) : '';
  $('missing').querySelector('i').style.background = missingColor(scale.map);
}

function draw() {
  const whole = tileAt(topLevel(), 0, 0);
  if (!scale && whole) setScale(whole.values.map(shown));
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (!scale) return;
  context.save();
  context.beginPath();  // blocks may reach beyond the last points
  context.rect(-centerX * zoom + canvas.width / 2, -centerY * zoom * stretch() + canvas.height / 2, width() * zoom,
    height() * zoom * stretch());
  context.clip();
  const level = currentLevel();
  for (let coarser = topLevel(); coarser > level; coarser -= 2) inSight(coarser, (x, y) => drawTile(coarser, x, y));
  inSight(level, (x, y) => drawTile(level, x, y));
  context.restore();
  document.body.dataset.level = level;
}

function showWhole() {
  zoom = Math.min(canvas.width / width(), result.axes[1] ? canvas.height / height() : Infinity);
  centerX = width() / 2;
  centerY = height() / 2;
  later();
}

// Zooms by a factor; the point under (x, y), in pixels of the canvas, stays there.
function zoomBy(factor, x = canvas.width / 2, y = canvas.height / 2) {
  const most = Math.max(64, 4 * canvas.width / width()), least = Math.min(canvas.width / width(), canvas.height / height(), 1) / 2;
  const before = pointAt(x, y);
  zoom = Math.min(most, Math.max(least, zoom * factor));
  const after = pointAt(x, y);
  move(before[0] - after[0], before[1] - after[1]);
}

function move(dx, dy) {
  centerX = Math.min(width(), Math.max(0, centerX + dx));
  centerY = Math.min(height(), Math.max(0, centerY + dy));
  later();
}

const pointAt = (x, y) => [centerX + (x - canvas.width / 2) / zoom,
  centerY + (y - canvas.height / 2) / zoom / stretch()];

// The frame of a movie; axes have ranges of their own in each.
const frameShown = () => Number(at.find((place) => place.startsWith('frame='))?.slice('frame='.length) ?? 0);

function readValue(pixelX, pixelY) {
  const [px, py] = pointAt(pixelX, pixelY).map(Math.floor), level = currentLevel(), block = 2 ** level;
  if (px < 0 || py < 0 || px >= width() || py >= height()) return;
  const bx = Math.floor(px / block), by = Math.floor(py / block), tx = Math.floor(bx / SIDE), ty = Math.floor(by / SIDE);
  const tile = tileAt(level, tx, ty);
  if (!tile) return;
  const value = tile.values[(by - ty * SIDE) * tile.columns + bx - tx * SIDE];
  const place = result.axes.slice(0, 2).map((axis, i) => {
    const { first, step } = axis.frames?.[frameShown()] ?? axis;
    return `${axis.name} = ${digits(first + step * [px, py][i], axis.frames ? 17 : 7)}`;
  });
  const number = Number.isFinite(value) ? field.words[value] ?? digits(value, 10) : 'no value';
  const unit = field.unit && field.unit !== '1' ? ` ${field.unit}` : '';
  $('value').textContent = `${place.join(', ')}: ${field.name} = ${number}${unit}`
    + (block > 1 && !field.words.length ? ` (mean of ${block} × ${block} points)` : '');
}

function fitColors() {
  const values = [];
  inSight(currentLevel(), (x, y) => tileAt(currentLevel(), x, y)?.values.forEach((value) => values.push(shown(value))));
  if (values.length) setScale(values);
  later();
}

function chooseField() {
  field = result.fields.find((f) => f.name === $('field').value);
  const free = [...result.axes.slice(2).map((axis) => ({ name: axis.name, labels: Array.from({ length: axis.count },
    (_, i) => digits(axis.first + i * axis.step, 5)) })), ...field.dimensions];
  const selects = free.map((dimension) => {
    const label = document.createElement('label'), select = document.createElement('select');
    dimension.labels.forEach((text, i) => select.append(new Option(text, `${dimension.name}=${i}`)));
    label.append(`${dimension.name} `, select);
    return label;
  });
  $('choices').replaceChildren(...selects);
  $('map').value = field.words.length ? 'classes' : $('map').value === 'classes' ? 'inferno' : $('map').value;
  chooseAt();
}

function chooseAt() {
  at = [...$('choices').querySelectorAll('select')].map((select) => select.value);
  $('shown').textContent = `Colors: ${field.plotFrom === undefined ? '' : `${field.plotFrom} − `}${field.name}, ${field.about}`;
  restyle();
}

function restyle() {
  scale = null;
  later();
}

async function describe() {
  const before = result?.done;
  const answer = await fetch('/api/result');
  result = await answer.json();
  if (!answer.ok) throw new Error(result.error);
  $('name').textContent = document.title = result.name;
  const points = result.axes.map((axis) => axis.count.toLocaleString('en')).join(' × ');
  $('state').textContent = result.complete ? `${points} points`
    : `${points} points, ${(100 * result.done / result.points).toFixed(1)} % computed so far`;
  $('state').className = '';
  if (before !== undefined && before !== result.done) {
    tiles.clear();
    restyle();
  }
  if (!result.complete) setTimeout(() => describe().catch((error) => fail(error.message)), 5000);
}

function resize() {
  const ratio = window.devicePixelRatio || 1;
  const before = canvas.width;
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (before > 1) zoom *= canvas.width / before;
  later();
}

// One pointer moves, two zoom.
function listenToPointers() {
  const held = new Map();
  const place = (event) => [event.offsetX, event.offsetY].map((v) => v * canvas.width / canvas.clientWidth);
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, place(event));
    canvas.classList.add('held');
  });
  canvas.addEventListener('pointermove', (event) => {
    const now = place(event), before = held.get(event.pointerId);
    readValue(...now);
    if (!before) return;
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      zoomBy(apart(now) / Math.max(1, apart(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else {
      move((before[0] - now[0]) / zoom, (before[1] - now[1]) / zoom / stretch());
    }
    held.set(event.pointerId, now);
  });
  for (const name of ['pointerup', 'pointercancel'])
    canvas.addEventListener(name, (event) => {
      held.delete(event.pointerId);
      if (!held.size) canvas.classList.remove('held');
    });
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    zoomBy(2 ** (-event.deltaY / 300), ...place(event));
  }, { passive: false });
}

function listen() {
  const far = () => canvas.width / zoom / 8;
  const keys = {
    ArrowLeft: () => move(-far(), 0), ArrowRight: () => move(far(), 0), ArrowUp: () => move(0, -far()),
    ArrowDown: () => move(0, far()), '+': () => zoomBy(1.5), '=': () => zoomBy(1.5), '-': () => zoomBy(1 / 1.5),
    0: showWhole, c: fitColors,
  };
  canvas.addEventListener('keydown', (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
    readValue(canvas.width / 2, canvas.height / 2);
  });
  $('field').addEventListener('change', chooseField);
  $('choices').addEventListener('change', chooseAt);
  $('map').addEventListener('change', restyle);
  $('scaling').addEventListener('change', restyle);
  $('fit-colors').addEventListener('click', fitColors);
  $('closer').addEventListener('click', () => zoomBy(1.5));
  $('farther').addEventListener('click', () => zoomBy(1 / 1.5));
  $('whole').addEventListener('click', showWhole);
  $('controls').addEventListener('submit', (event) => event.preventDefault());
  listenToPointers();
  new ResizeObserver(resize).observe(canvas);
}

async function start() {
  const names = await loadMaps();
  names.forEach((name) => $('map').append(new Option(name)));
  $('map').value = 'inferno';
  await describe();
  result.fields.forEach((f) => $('field').append(new Option(f.name)));
  resize();
  showWhole();
  chooseField();
  listen();
}

start().catch((error) => fail(error.message));
