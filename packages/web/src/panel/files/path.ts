/** Paths of files as the address of the page has them: a directory ends with a slash, the workspace is empty. Pure. */

export type Place = { readonly path: string; readonly isDirectory: boolean }

export const placeIn = (shown: string | null): Place => {
  const path = (shown ?? '').replace(/\/$/, '')
  return { path, isDirectory: path === '' || shown?.endsWith('/') === true }
}

export const shownOf = ({ path, isDirectory }: Place): string | null =>
  path === '' ? null : isDirectory ? `${path}/` : path

export const joined = (directory: string, name: string): string => (directory === '' ? name : `${directory}/${name}`)

/** The directory around a path; empty for the workspace. */
export const above = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Each directory on the way to a path, and the path itself. */
export const steps = (path: string): { name: string; path: string }[] =>
  path === '' ? [] : path.split('/').map((name, index, all) => ({ name, path: all.slice(0, index + 1).join('/') }))

/** Types of images that a browser shows, by the ending of their names. In an `img` element none of them runs a script. */
const IMAGES: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  gif: 'image/gif',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  svg: 'image/svg+xml',
  webp: 'image/webp',
}

/** The type of an image; null for any other file. */
export const imageType = (path: string): string | null => {
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(IMAGES, ending) ? IMAGES[ending]! : null
}
