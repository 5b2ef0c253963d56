/** A tar stream of a program, to which one more file is added at its end. Source: POSIX pax, ustar interchange format. */

const BLOCK = 512
const ZEROES = Buffer.alloc(2 * BLOCK)
const MAX_NAME = 100

/** Regular files of an archive, and their bytes. */
export type TarCounts = { files: number; bytes: number }
export type TarFile = { name: string; bytes: Buffer }

/**
 * The members of an uncompressed archive as they are, then the file, then the end mark.
 * @param last called with the counts when the end mark of `source` was read; null adds nothing
 * @throws Error when the source ends before its end mark, so that the archive is incomplete.
 */
export async function* withLastFile(
  source: AsyncIterable<Uint8Array>,
  last: (counts: TarCounts) => TarFile | null,
): AsyncGenerator<Uint8Array> {
  const counts: TarCounts = { files: 0, bytes: 0 }
  let isEnded = false
  /** Bytes of the current member that follow; its header has been read. */
  let contentBytes = 0
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    if (isEnded) continue
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    let done = 0
    while (!isEnded) {
      const take = Math.min(contentBytes, bytes.length - done)
      contentBytes -= take
      done += take
      if (contentBytes > 0 || bytes.length - done < BLOCK) break
      const header = bytes.subarray(done, done + BLOCK)
      if (header.every((byte) => byte === 0)) {
        isEnded = true
        break
      }
      const size = sizeOf(header)
      if (isRegular(header)) {
        counts.files += 1
        counts.bytes += size
      }
      contentBytes = Math.ceil(size / BLOCK) * BLOCK
      done += BLOCK
    }
    if (done > 0) yield bytes.subarray(0, done)
    rest = bytes.subarray(done)
  }
  if (!isEnded) throw new Error('the archive ended before its end mark')
  const file = last(counts)
  if (file !== null) yield memberOf(file)
  yield ZEROES
}

/** Type `0`, or NUL in archives of old programs. */
const isRegular = (header: Buffer): boolean => header[156] === 0x30 || header[156] === 0

/** Octal digits, or a binary number behind a set highest bit. */
function sizeOf(header: Buffer): number {
  const field = header.subarray(124, 136)
  if (((field[0] ?? 0) & 0x80) !== 0) return Number(field.readBigUInt64BE(4))
  const size = Number.parseInt(field.toString('latin1').replaceAll('\0', ' ').trim() || '0', 8)
  if (!Number.isSafeInteger(size)) throw new Error('a header of the archive cannot be read')
  return size
}

/** A long name has a header of its own. */
function memberOf({ name, bytes }: TarFile): Buffer {
  const whole = Buffer.from(name)
  const path = whole.length > MAX_NAME ? paxRecord('path', name) : null
  return Buffer.concat([
    ...(path === null ? [] : [headerOf(Buffer.from('PaxHeader'), path.length, 'x'), padded(path)]),
    headerOf(whole.subarray(0, MAX_NAME), bytes.length, '0'),
    padded(bytes),
  ])
}

const padded = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc(Math.ceil(bytes.length / BLOCK) * BLOCK - bytes.length)])

/** The record contains its own length. */
function paxRecord(key: string, value: string): Buffer {
  const text = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(text)
  const digits = String(bytes + String(bytes).length).length
  return Buffer.from(`${bytes + digits}${text}`)
}

function headerOf(name: Buffer, size: number, type: '0' | 'x'): Buffer {
  const header = Buffer.alloc(BLOCK)
  name.copy(header)
  header.write('0000644\0' + '0000000\0' + '0000000\0', 100, 'latin1')
  header.write(`${size.toString(8).padStart(11, '0')}\0${'0'.repeat(11)}\0`, 124, 'latin1')
  header.write(' '.repeat(8), 148, 'latin1')
  header.write(type, 156, 'latin1')
  header.write('ustar\0' + '00', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return header
}
