import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundaryOf, type Part, partOf } from './multipart.ts'

const BODY = Buffer.from(
  [
    'a preamble that is ignored',
    '--b',
    'Content-Disposition: form-data; name="first"',
    '',
    'skipped',
    '--b',
    'Content-Type: text/plain',
    'content-disposition: form-data; name="file"; filename="x; name=\\"no\\""',
    '',
    'line one\r\n--a\r\n--',
    '--b--',
    'an epilogue',
  ].join('\r\n'),
)

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0
  for (let n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function read(bytes: Buffer, name: string, sizes: readonly number[] = [bytes.length]): Promise<string | null> {
  const part = await partOf(cut(bytes, sizes), 'b', name)
  return part === null ? null : (await bytesOf(part)).toString()
}

async function bytesOf({ bytes }: Part): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces)
}

test('a multipart part is found by its name and ends only at a boundary', async () => {
  expect(await read(BODY, 'file')).toBe('line one\r\n--a\r\n--')
  expect(await read(BODY, 'first')).toBe('skipped')
  expect(await read(BODY, 'absent')).toBeNull()
})

test('a multipart body is read alike wherever the network splits it', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(sizes, async (pieces) => {
      expect(await read(BODY, 'file', pieces)).toBe('line one\r\n--a\r\n--')
    }),
  )
})

test('the bytes of a multipart part are returned unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 60 }), async (content, size) => {
      const head = Buffer.from('--b\r\nContent-Disposition: form-data; name=file\r\n\r\n')
      const body = Buffer.concat([head, content, Buffer.from('\r\n--b--\r\n')])
      const part = await partOf(cut(body, [size]), 'b', 'file')
      expect((await bytesOf(part!)).equals(content)).toBe(true)
    }),
  )
})

test('a multipart body that ends early is refused', async () => {
  const end = BODY.indexOf('--b--') + 1
  for (let at = 0; at < end; at++)
    await expect(read(BODY.subarray(0, at), 'absent')).rejects.toMatchObject({ code: 'bad_request' })
})

test('part headers without an end are refused', async () => {
  const endless = Buffer.concat([Buffer.from('--b\r\nX: '), Buffer.alloc(64 * 1024, 'x')])
  await expect(read(endless, 'file', [1024])).rejects.toThrow('the headers of a part are too long')
})

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['Multipart/Form-Data; charset=utf-8; Boundary="a b:c"', 'a b:c'],
  ['multipart/form-data', null],
  ['multipart/mixed; boundary=abc', null],
  ['application/json', null],
  [undefined, null],
])('the boundary in the content type %s is %s', (type, boundary) => {
  expect(boundaryOf(type)).toBe(boundary)
})
