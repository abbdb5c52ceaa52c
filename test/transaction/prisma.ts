/**
 * A Prisma client without a model. `prisma generate` writes a class that is made like this one,
 * from the runtime. The generator itself downloads an engine, which is not needed here.
 */
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { PrismaPg } from '@prisma/adapter-pg'
import { getPrismaClient, type GetPrismaClientConfig } from '@prisma/client/runtime/client'

/** Node has it; the types of Node, as they are used here, have not. */
declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object }

export interface Prisma {
  $queryRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<unknown>
  $transaction<T>(
    work: (tx: Omit<Prisma, '$transaction' | '$connect' | '$disconnect'>) => Promise<T>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<T>
  $connect(): Promise<void>
  $disconnect(): Promise<void>
}

type Provider = 'postgresql' | 'mysql'

export function prismaFor(provider: Provider, url: string): Prisma {
  const adapter =
    provider === 'mysql'
      ? new PrismaMariaDb(url.replace(/^mysql:/, 'mariadb:'))
      : new PrismaPg({ connectionString: url })
  const Client = getPrismaClient(config(provider))
  return new Client({ adapter })
}

function config(provider: Provider): GetPrismaClientConfig {
  const compiler = `@prisma/client/runtime/query_compiler_fast_bg.${provider}`
  return {
    previewFeatures: [],
    clientVersion: 'of a test',
    engineVersion: '',
    activeProvider: provider,
    inlineSchema: `datasource db {\n  provider = "${provider}"\n}\n`,
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      importName: './query_compiler_fast_bg.js',
      getRuntime: () => import(`${compiler}.mjs`) as never,
      async getQueryCompilerWasmModule() {
        const { wasm } = (await import(`${compiler}.wasm-base64.mjs`)) as { wasm: string }
        return new WebAssembly.Module(Buffer.from(wasm, 'base64'))
      },
    },
  }
}
