// Fetches tiles of numbers, keeps the latest ones, and paints them with a scale.

import { colorOf } from './colors.js';

export const SIDE = 256;
const MOST = 160;  // tiles of at most 512 KiB

export class Tiles {
  // arrived: called when a tile is there; failed: called with a message.
  constructor(arrived, failed) {
    this.arrived = arrived;
    this.failed = failed;
    this.clear();
  }

  clear() {
    this.kept = new Map();
  }

  // what: { field, at, level, x, y }; columns: numbers in a row of the tile. Returns the tile, or nothing while it is on its way.
  get(what, columns) {
    const query = new URLSearchParams({ field: what.field, level: what.level, x: what.x, y: what.y });
    for (const at of what.at) query.append('at', at);
    const key = query.toString();
    let tile = this.kept.get(key);
    if (tile) {
      this.kept.delete(key);  // so that it becomes the latest
    } else {
      tile = { columns, values: null };
      this.load(tile, key.replaceAll('+', '%20'));
    }
    this.kept.set(key, tile);
    if (this.kept.size > MOST) this.kept.delete(this.kept.keys().next().value);
    return tile.values ? tile : null;
  }

  async load(tile, query) {
    try {
      const answer = await fetch(`/api/tile?${query}`);
      if (!answer.ok) throw new Error((await answer.json()).error);
      tile.values = new Float64Array(await answer.arrayBuffer());
      this.arrived();
    } catch (error) {
      this.failed(error.message);
    }
  }
}

// Returns a canvas with the tile's colors. plotFrom: of the field, or undefined.
export function painted(tile, scale, plotFrom) {
  if (tile.scale === scale) return tile.canvas;
  const { columns, values } = tile, rows = values.length / columns;
  tile.canvas ??= new OffscreenCanvas(columns, rows);
  const context = tile.canvas.getContext('2d'), image = context.createImageData(columns, rows);
  for (let i = 0; i < values.length; ++i) {
    const color = colorOf(scale, plotFrom === undefined ? values[i] : plotFrom - values[i]);
    image.data[4 * i] = color >> 16;
    image.data[4 * i + 1] = color >> 8 & 255;
    image.data[4 * i + 2] = color & 255;
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  tile.scale = scale;
  return tile.canvas;
}
