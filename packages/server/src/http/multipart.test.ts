import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundaryOf, partOf } from './multipart.ts'

const BODY = Buffer.from(
  [
    'a preamble that nobody reads',
    '--b',
    'Content-Disposition: form-data; name="first"',
    '',
    'passed over',
    '--b  ',
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
  if (part === null) return null
  const pieces: Buffer[] = []
  for await (const piece of part) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

test('a part is found by its name, and ends at a boundary only', async () => {
  expect(await read(BODY, 'file')).toBe('line one\r\n--a\r\n--')
  expect(await read(BODY, 'first')).toBe('passed over')
  expect(await read(BODY, 'absent')).toBeNull()
})

test('where the network cuts the body makes no difference', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(sizes, async (pieces) => {
      expect(await read(BODY, 'file', pieces)).toBe('line one\r\n--a\r\n--')
    }),
  )
})

test('whatever bytes a part has come back as they were', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 60 }), async (content, size) => {
      const head = Buffer.from('--b\r\nContent-Disposition: form-data; name=file\r\n\r\n')
      const body = Buffer.concat([head, content, Buffer.from('\r\n--b--\r\n')])
      const part = await partOf(cut(body, [size]), 'b', 'file')
      const pieces: Buffer[] = []
      for await (const piece of part!) pieces.push(piece)
      expect(Buffer.concat(pieces).equals(content)).toBe(true)
    }),
  )
})

test('a body that breaks off anywhere is refused', async () => {
  const end = BODY.indexOf('--b--') + 1
  for (let at = 0; at < end; at++)
    await expect(read(BODY.subarray(0, at), 'absent')).rejects.toMatchObject({ code: 'bad_request' })
})

test('headers without end are not held', async () => {
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
])('the boundary of %s is %s', (type, boundary) => {
  expect(boundaryOf(type)).toBe(boundary)
})
