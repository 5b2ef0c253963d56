/** A file: its text with line numbers, an image, or a download. */
import { Image } from './image.tsx'
import { imageType } from './path.ts'
import { Text } from './text.tsx'

export function File({ id, path }: { id: string; path: string }) {
  const type = imageType(path)
  return type === null ? <Text id={id} path={path} /> : <Image id={id} path={path} type={type} />
}
