// Gives values their colors: the map, the scaling, and the range of the values.

let maps = {}, missing = {};

export async function loadMaps() {
  ({ maps, missing } = await (await fetch('/api/maps')).json());
  return Object.keys(maps);
}

export const missingColor = (map) => `#${missing[map].toString(16).padStart(6, '0')}`;

// Makes a scale over `values`. Values beyond them have the colors of the ends.
export function makeScale(map, scaling, values) {
  const shown = Float64Array.from(values).filter((v) => Number.isFinite(v) && (scaling !== 'log' || v > 0)).sort();
  return { map, scaling, ranked: shown, least: shown[0], greatest: shown[shown.length - 1] };
}

// Returns how many of the rising values are not greater.
function notGreater(ranked, value) {
  let low = 0, high = ranked.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranked[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

// Returns 0 at the least value and 1 at the greatest.
function position(scale, value) {
  const { least, greatest, ranked } = scale;
  if (!(greatest > least)) return 0;
  if (scale.scaling === 'log') return Math.log(value / least) / Math.log(greatest / least);
  if (scale.scaling === 'linear') return (value - least) / (greatest - least);
  const first = notGreater(ranked, least);
  return (notGreater(ranked, value) - first) / (ranked.length - first);
}

// Returns a color as 0xRRGGBB.
export function colorOf(scale, value) {
  if (!Number.isFinite(value) || (scale.scaling === 'log' && !(value > 0))) return missing[scale.map];
  const table = maps[scale.map];
  if (scale.map === 'classes') return table[((Math.round(value) % table.length) + table.length) % table.length];
  const index = Math.floor(position(scale, value) * table.length);
  return table[Math.min(table.length - 1, Math.max(0, index))];
}

// Draws the color bar, the greatest value at the top.
export function drawBar(canvas, scale) {
  const context = canvas.getContext('2d'), image = context.createImageData(1, canvas.height), table = maps[scale.map];
  for (let y = 0; y < canvas.height; ++y) {
    const share = 1 - (y + 0.5) / canvas.height;
    const color = scale.map === 'classes'
      ? colorOf(scale, Math.floor(scale.least + share * (scale.greatest - scale.least + 1)))
      : table[scale.greatest > scale.least ? Math.floor(share * table.length) : 0];
    image.data.set([color >> 16, color >> 8 & 255, color & 255, 255], 4 * y);
  }
  context.putImageData(image, 0, 0);
}
