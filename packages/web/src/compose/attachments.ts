/** Images that are sent with a message, as data addresses. */

const KINDS = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** Bytes of one image. */
const MOST_BYTES = 8 * 1024 * 1024

/** The images among `files`; `refused`: files that are no images, or too large. */
export async function imagesOf(files: Iterable<File>): Promise<{ addresses: string[]; refused: number }> {
  const all = [...files]
  const images = all.filter(({ type, size }) => KINDS.has(type) && size <= MOST_BYTES)
  return { addresses: await Promise.all(images.map(addressOf)), refused: all.length - images.length }
}

function addressOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(typeof reader.result === 'string' ? reader.result : ''))
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the file cannot be read')))
    reader.readAsDataURL(file)
  })
}
