/** How a camera was held, in a JPEG: the pixels stay as they are, and programs turn them. Pure. */

const UPRIGHT = 1

/** Returns the JPEG with an EXIF segment that has only the orientation; without one when it is upright. */
export function withOrientation(jpeg: Uint8Array, orientation: number): Uint8Array {
  if (orientation === UPRIGHT) return jpeg
  // The header of a TIFF with one directory of one entry: tag 0x0112, a 16-bit number.
  const tiff = Buffer.from('4d4d002a00000008' + '0001' + '011200030000000100000000' + '00000000', 'hex')
  tiff.writeUInt16BE(orientation, 18)
  const body = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff])
  const head = Buffer.from([0xff, 0xe1, 0, body.length + 2])
  return Buffer.concat([jpeg.subarray(0, 2), head, body, jpeg.subarray(2)])
}
