// Columns of numbers that grow, as typed arrays: a record of 100,000 rounds has no object per round.

/** Table of equally long columns of numbers. NaN stands for a value that does not exist. */
export class Columns {
  #names;
  #data = {};
  #capacity = 64;
  length = 0;

  constructor(names) {
    this.#names = names;
    for (const name of names) {
      this.#data[name] = new Float64Array(this.#capacity);
    }
  }

  /** Appends a row, an object by column. */
  push(row) {
    if (this.length === this.#capacity) {
      this.#grow();
    }
    this.set(this.length++, row);
  }

  /** Overwrites the values of a row that are given. */
  set(index, row) {
    for (const name of this.#names) {
      if (name in row) {
        this.#data[name][index] = row[name] ?? NaN;
      }
    }
  }

  /** The numbers of a column. The array stays valid until the next push. */
  column(name) {
    return this.#data[name].subarray(0, this.length);
  }

  at(name, index) {
    return this.#data[name][index];
  }

  /** The last value of a column, NaN of an empty table. */
  last(name) {
    return this.length > 0 ? this.#data[name][this.length - 1] : NaN;
  }

  has(name) {
    return name in this.#data;
  }

  clear() {
    this.length = 0;
  }

  #grow() {
    this.#capacity *= 2;
    for (const name of this.#names) {
      const longer = new Float64Array(this.#capacity);
      longer.set(this.#data[name]);
      this.#data[name] = longer;
    }
  }
}

/** The first index of ascending xs whose value is at least x. */
export function lowerBound(xs, x) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
