/** A zip archive as a stream of pieces: entries deflated one at a time, the directory at the end. Zip64 where necessary. */
import { crc32, deflateRaw, deflateRawSync } from 'node:zlib'
import { promisify } from 'node:util'

export type ZipEntry = { name: string; bytes: Uint8Array }

const deflateLarge = promisify(deflateRaw)
/** Size in bytes up to which another thread would take longer than the work itself. */
const SMALL = 16 * 1024

/**
 * With the default chunk of 16 KiB for each entry, a long log would take more than a gigabyte until the next garbage collection. Bytes
 * that cannot be compressed grow by less than 64.
 */
const chunkOf = (bytes: Uint8Array) => ({ chunkSize: bytes.byteLength + 64 })
const deflate = (bytes: Uint8Array) =>
  bytes.byteLength <= SMALL ? deflateRawSync(bytes, chunkOf(bytes)) : deflateLarge(bytes)

/** Deflate, UTF-8 names, version 2.0, the first of January 1980: the same entries make the same archive. */
const COMMON = Buffer.from([20, 0, 0, 8, 8, 0, 0, 0, 33, 0])
const MAX_16 = 0xffff
const MAX_32 = 0xffffffff

/** @throws RangeError for an entry beyond 4 GiB or a name beyond 64 KiB. */
export async function* zip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Buffer> {
  const directory: Buffer[] = []
  let offset = 0
  for await (const { name, bytes } of entries) {
    const packed = await deflate(bytes)
    const title = Buffer.from(name, 'utf8')
    const sizes = Buffer.alloc(18)
    sizes.writeUInt32LE(crc32(bytes), 0)
    sizes.writeUInt32LE(packed.byteLength, 4)
    sizes.writeUInt32LE(bytes.byteLength, 8)
    sizes.writeUInt16LE(title.byteLength, 12)
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), COMMON, sizes.subarray(0, 16), title, packed])
    directory.push(record(sizes.subarray(0, 14), title, offset))
    offset += local.byteLength
    yield local
  }
  const listing = Buffer.concat(directory)
  yield listing
  yield end(directory.length, listing.byteLength, offset)
}

/** One entry of the directory; an offset beyond four bytes is stored in a field of its own. */
function record(sizes: Buffer, title: Buffer, offset: number): Buffer {
  const isFar = offset >= MAX_32
  const extra = Buffer.alloc(isFar ? 12 : 0)
  if (isFar) {
    extra.writeUInt16LE(1, 0)
    extra.writeUInt16LE(8, 2)
    extra.writeBigUInt64LE(BigInt(offset), 4)
  }
  const rest = Buffer.alloc(16)
  rest.writeUInt16LE(extra.byteLength, 0)
  // A plain file that its owner may read and write.
  rest.writeUInt32LE(0o100600 * 2 ** 16, 8)
  rest.writeUInt32LE(Math.min(offset, MAX_32), 12)
  const head = Buffer.from([...Buffer.from('PK\x01\x02', 'latin1'), 20, 3])
  return Buffer.concat([head, COMMON, sizes, rest, title, extra])
}

function end(count: number, listingBytes: number, offset: number): Buffer {
  const short = Buffer.alloc(22)
  short.write('PK\x05\x06', 'latin1')
  short.writeUInt16LE(Math.min(count, MAX_16), 8)
  short.writeUInt16LE(Math.min(count, MAX_16), 10)
  short.writeUInt32LE(Math.min(listingBytes, MAX_32), 12)
  short.writeUInt32LE(Math.min(offset, MAX_32), 16)
  if (count < MAX_16 && listingBytes < MAX_32 && offset < MAX_32) return short
  const long = Buffer.alloc(56)
  long.write('PK\x06\x06', 'latin1')
  long.writeBigUInt64LE(44n, 4)
  long.writeUInt16LE(45, 12)
  long.writeUInt16LE(45, 14)
  long.writeBigUInt64LE(BigInt(count), 24)
  long.writeBigUInt64LE(BigInt(count), 32)
  long.writeBigUInt64LE(BigInt(listingBytes), 40)
  long.writeBigUInt64LE(BigInt(offset), 48)
  const locator = Buffer.alloc(20)
  locator.write('PK\x06\x07', 'latin1')
  locator.writeBigUInt64LE(BigInt(offset + listingBytes), 8)
  locator.writeUInt32LE(1, 16)
  return Buffer.concat([long, locator, short])
}
