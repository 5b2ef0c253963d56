import { expect, test } from 'vitest'
import { textOf } from './text-of.ts'

const content = [
  { type: 'text', text: 'one' },
  { type: 'image', image_urls: ['https://example.com/a.png'] },
  { type: 'text', text: '' },
  { type: 'text', text: 'two' },
]

test('text parts of a message are joined with line breaks and images are left out', () => {
  expect(textOf(content)).toBe('one\n\ntwo')
  expect(textOf([])).toBe('')
})

test('text parts of a message are joined with the separator and the image placeholder of the caller', () => {
  expect(textOf(content, { separator: '' })).toBe('onetwo')
  expect(textOf(content, { other: '[image]' })).toBe('one\n[image]\n\ntwo')
  expect(textOf(content, { separator: ' ', other: '' })).toBe('one   two')
})
