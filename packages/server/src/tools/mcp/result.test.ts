import { expect, test } from 'vitest'
import { bmpOf, dataUrl, jpegOf } from '../../../testing/images.ts'
import { observationOf } from './result.ts'

async function result(...images: { data: string; mimeType: string }[]) {
  const { content } = await observationOf('draw', { content: images.map((part) => ({ type: 'image', ...part })) })
  return content.slice(1)
}

test('an image of a server has the media type of its content', async () => {
  const bytes = jpegOf({ width: 4, height: 4 })
  const data = bytes.toString('base64')
  for (const mimeType of ['image/png', 'image/jpeg', 'application/octet-stream', '', 'a,b;base64'])
    expect(await result({ data, mimeType })).toMatchObject([
      { type: 'image', image_urls: [dataUrl('image/jpeg', bytes)] },
    ])
})

test('an image with line breaks in its base64 is accepted', async () => {
  const bytes = jpegOf({ width: 4, height: 4 })
  const data = bytes.toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  expect(await result({ data, mimeType: 'image/jpeg' })).toMatchObject([{ image_urls: [dataUrl('image/jpeg', bytes)] }])
})

test.each([
  [
    bmpOf({ width: 4, height: 4 }).toString('base64'),
    /^\[An image was left out: it is a BMP image, which models cannot/,
  ],
  ['', /it is an empty file/],
  [
    'A'.repeat(7 * 1024 * 1024 + 4),
    /^\[An image of 7340036 characters was left out; at most .* Ask the tool for a smaller/,
  ],
])('a line says why an image of a server was left out', async (data, words) => {
  expect(await result({ data, mimeType: 'image/png' })).toEqual([
    { type: 'text', text: expect.stringMatching(words), cache_prompt: false },
  ])
})
