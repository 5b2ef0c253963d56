import { expect, test } from 'vitest'
import { RecentMap } from './recent-map.ts'

test('the values that were used last are kept, up to a total weight', () => {
  const map = new RecentMap<number>(3)
  for (const n of [1, 2, 3]) map.set(`${n}`, n, 1)
  expect(map.get('1')).toBe(1)
  map.set('4', 4, 1)
  expect(['1', '2', '3', '4'].map((key) => map.get(key))).toEqual([1, undefined, 3, 4])
  map.set('5', 5, 2)
  expect(['1', '3', '4', '5'].map((key) => map.get(key))).toEqual([undefined, undefined, 4, 5])
})

test('a value that is set again counts its new weight alone', () => {
  const map = new RecentMap<string>(10)
  map.set('other', 'kept', 1)
  for (let n = 1; n <= 9; n++) map.set('growing', `${n}`, n)
  expect([map.size, map.get('other'), map.get('growing')]).toEqual([2, 'kept', '9'])
  map.set('growing', 'too large', 10)
  expect([map.size, map.get('other')]).toEqual([1, undefined])
  map.set('growing', 'small', 1)
  map.set('third', 'fits', 9)
  expect([map.get('growing'), map.get('third')]).toEqual(['small', 'fits'])
})

test('a value that is heavier than all may be is kept alone until the next one', () => {
  const map = new RecentMap<string>(2)
  map.set('small', 's', 1)
  map.set('huge', 'h', 5)
  expect([map.size, map.get('huge')]).toEqual([1, 'h'])
  map.set('small', 's', 1)
  expect([map.size, map.get('huge')]).toEqual([1, undefined])
})
