/** An image of a workspace. It is an `img` element, in which no script of the image runs. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Listing } from '../../ui/listing.tsx'
import { files as words } from '../../words/files.en.ts'
import { contentOf, TooLarge } from './content.ts'
import { Download } from './download.tsx'

const MAX_BYTES = 20_000_000

export function Image({ id, path, type }: { id: string; path: string; type: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['files', id, 'image', path],
    queryFn: ({ signal }) => contentOf(id, path, { type, maxBytes: MAX_BYTES, signal }),
    retry: false,
  })
  if (error instanceof TooLarge)
    return (
      <p className="files-facts">
        <span>{words.tooLarge(error.size)}</span>
        <Download id={id} path={path} />
      </p>
    )
  return (
    <Listing items={data === undefined ? undefined : [data]} error={error} onRetry={() => void refetch()} empty={null}>
      {([blob]) => (
        <>
          <p className="files-facts">
            <span>{words.sizeOf(blob!.size)}</span>
            <Download id={id} path={path} />
          </p>
          <Shown blob={blob!} path={path} />
        </>
      )}
    </Listing>
  )
}

function Shown({ blob, path }: { blob: Blob; path: string }) {
  const [url, setUrl] = useState('')
  const [isBroken, setBroken] = useState(false)
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  if (isBroken) return <p className="note files-note">{words.noImage}</p>
  if (url === '') return null
  return (
    <div className="files-image">
      <img src={url} alt={words.imageOf(path)} onError={() => setBroken(true)} />
    </div>
  )
}
